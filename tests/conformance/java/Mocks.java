// Situations for which librdkafka has its mock cluster: run as `java ... Mocks SITUATION BOOTSTRAP CONTROL_URL TOPIC`.
// The first difference ends it with a stack trace and exit code 1.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Mocks {
  static final int BACK_MS = 20;
  static final HttpClient http = HttpClient.newHttpClient();
  static final ObjectMapper json = new ObjectMapper();
  static String bootstrap;
  static String url;
  static String topic;

  public static void main(String[] arguments) throws Exception {
    bootstrap = arguments[1];
    url = arguments[2];
    topic = arguments[3];
    switch (arguments[0]) {
      case "lost" -> answerIsLost();
      case "transaction" -> transactionGoesOn();
      case "fenced" -> producerIsFenced();
      case "group" -> groupIsEntered();
      case "range" -> offsetIsOutOfRange();
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    System.out.println("passed");
  }

  static JsonNode control(String method, String path, Object body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create(url + path)).header("Content-Type", "application/json")
        .method(method, HttpRequest.BodyPublishers.ofString(json.writeValueAsString(body))).build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    check(answer.statusCode() == 200, method + " " + path + ": " + answer.body());
    return json.readTree(answer.body());
  }

  // Put rules in force that act once, one after the other; the result is the path of the last one.
  static String fault(String api, String... errors) throws Exception {
    String id = "";
    for (String error : errors) {
      Map<String, Object> rule = Map.of("keys", List.of(api), "error", error);
      id = control("POST", "/v1/faults", Map.of("rules", List.of(rule))).get("id").asText();
    }
    return "/v1/faults/" + id;
  }

  static int left(String fault) throws Exception {
    return control("GET", fault, Map.of()).get("left").asInt();
  }

  static String stateOfTransaction() throws Exception {
    return control("GET", "/v1/transactions/" + topic, Map.of()).get("state").asText();
  }

  static JsonNode requests(String api) throws Exception {
    return control("POST", "/v1/requests/find", Map.of("match", Map.of("keys", List.of(api), "topic", topic)));
  }

  static KafkaProducer<String, String> producer(String transactionalId) {
    Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 0, "retry.backoff.ms", BACK_MS,
        "retry.backoff.max.ms", 2 * BACK_MS, "reconnect.backoff.max.ms", 100));
    if (transactionalId != null) {
      settings.put("transactional.id", transactionalId);
    }
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  static long write(KafkaProducer<String, String> producer, String value) throws Exception {
    return producer.send(new ProducerRecord<>(topic, 0, null, value)).get().offset();
  }

  static KafkaConsumer<String, String> consumer(String reset) {
    return new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap, "group.id", topic, "auto.offset.reset", reset, "enable.auto.commit", false,
        "retry.backoff.ms", BACK_MS, "retry.backoff.max.ms", 2 * BACK_MS, "isolation.level", "read_committed", "fetch.max.wait.ms", 50),
        new StringDeserializer(), new StringDeserializer());
  }

  static void read(KafkaConsumer<String, String> consumer, String... values) {
    Set<String> missing = new HashSet<>(List.of(values));
    while (!missing.isEmpty()) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(10))) {
        check(missing.remove(record.value()), record.value());
      }
    }
  }

  // The connection ends after the work is done: the record is sent again, and is there once.
  static void answerIsLost() throws Exception {
    Map<String, Object> rule = Map.of("keys", List.of("Produce"), "topic", topic, "drop", "after", "count", 2);
    control("POST", "/v1/faults", Map.of("rules", List.of(rule)));
    try (KafkaProducer<String, String> producer = producer(null)) {
      check(write(producer, "one") == 0, "the first offset");
      check(write(producer, "two") == 1, "the second offset");
    }
    check(requests("Produce").size() == 4, "two records, and two that are sent again");
  }

  // Errors that pass, at each step of a transaction.
  static void transactionGoesOn() throws Exception {
    String[] passing = {"COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "CONCURRENT_TRANSACTIONS"};
    List<String> faults = List.of(fault("InitProducerId", passing), fault("Produce", "NOT_ENOUGH_REPLICAS"), fault("EndTxn", passing));
    try (KafkaProducer<String, String> producer = producer(topic)) {
      producer.initTransactions();
      producer.beginTransaction();
      check(write(producer, "one") == 0, "the first offset");
      producer.commitTransaction();
    }
    for (String each : faults) {
      check(left(each) == 0, "every rule has acted");
    }
    check(stateOfTransaction().equals("CompleteCommit"), stateOfTransaction());
  }

  // Another producer has the transactional id.
  static void producerIsFenced() throws Exception {
    try (KafkaProducer<String, String> producer = producer(topic)) {
      producer.initTransactions();
      producer.beginTransaction();
      write(producer, "one");
      fault("EndTxn", "PRODUCER_FENCED");
      try {
        producer.commitTransaction();
        check(false, "the commit is refused");
      } catch (ProducerFencedException e) {
        control("POST", "/v1/transactions/" + topic + "/abort", Map.of());
      }
    }
    check(stateOfTransaction().equals("Empty"), stateOfTransaction());
    try (KafkaProducer<String, String> next = producer(topic)) {
      next.initTransactions();
      next.beginTransaction();
      write(next, "two");
      next.commitTransaction();
    }
    check(stateOfTransaction().equals("CompleteCommit"), stateOfTransaction());
  }

  // Errors on the way into a group, and one of a commit that the application is told of.
  static void groupIsEntered() throws Exception {
    List<String> faults = List.of(fault("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"), fault("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        fault("SyncGroup", "NOT_COORDINATOR"), fault("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"));
    try (KafkaProducer<String, String> producer = producer(null); KafkaConsumer<String, String> consumer = consumer("earliest")) {
      write(producer, "one");
      consumer.subscribe(List.of(topic));
      read(consumer, "one");
      for (String each : faults) {
        check(left(each) == 0, "every rule has acted");
      }
      fault("OffsetCommit", "REBALANCE_IN_PROGRESS");
      try {
        consumer.commitSync();
        check(false, "the commit is refused");
      } catch (RebalanceInProgressException e) {
        write(producer, "two");
        read(consumer, "one", "two"); // the member joins again, and nothing was committed
      }
      consumer.commitSync();
    }
  }

  // An offset that the broker has no more, without a policy and with one.
  static void offsetIsOutOfRange() throws Exception {
    TopicPartition partition = new TopicPartition(topic, 0);
    try (KafkaProducer<String, String> producer = producer(null); KafkaConsumer<String, String> strict = consumer("none");
        KafkaConsumer<String, String> lenient = consumer("earliest")) {
      write(producer, "one");
      strict.assign(Set.of(partition));
      strict.seek(partition, 0);
      fault("Fetch", "OFFSET_OUT_OF_RANGE");
      try {
        read(strict, "one");
        check(false, "the application is told");
      } catch (OffsetOutOfRangeException e) {
        check(e.offsetOutOfRangePartitions().containsKey(partition), "of the partition");
      }
      String again = fault("Fetch", "OFFSET_OUT_OF_RANGE");
      lenient.assign(Set.of(partition));
      read(lenient, "one");
      check(left(again) == 0, "the rule has acted");
    }
  }

  static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }
}
