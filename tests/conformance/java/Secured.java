// Clients at secured listeners; tests/conformance/python/cases.py says what they do and print.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Secured {
  static final Duration TIMEOUT = Duration.ofSeconds(20);
  static final int PAUSE_MS = 200;
  static final String MODULES = "org.apache.kafka.common.security.";

  interface Step {
    void run() throws Exception;
  }

  private final String name;
  private final Map<String, String> words;

  Secured(String name, Map<String, String> words) {
    this.name = name;
    this.words = words;
  }

  public static void main(String[] arguments) throws Exception {
    List<Future<?>> running = new ArrayList<>();
    ExecutorService threads = Executors.newCachedThreadPool();
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split(" ");
      Map<String, String> words = new HashMap<>();
      for (int i = 2; i < parts.length; i++) {
        String[] pair = parts[i].split("=", 2);
        words.put(pair[0], pair[1]);
      }
      Secured secured = new Secured(parts[0], words);
      running.add(threads.submit(() -> {
        switch (parts[1]) {
          case "works" -> secured.work();
          case "denied" -> secured.beDenied();
          default -> secured.beRefused();
        }
        return null;
      }));
    }
    for (Future<?> each : running) {
      each.get();
    }
    threads.shutdown();
  }

  private void work() throws Exception {
    String topic = words.get("topic");
    Map<String, Object> transactional = settings();
    transactional.put("transactional.id", topic);
    Map<String, Object> reading = settings();
    reading.put("group.id", topic);
    reading.put("auto.offset.reset", "earliest");
    reading.put("isolation.level", "read_committed");
    reading.put("enable.auto.commit", false);
    try (KafkaProducer<String, String> producer = producer(settings());
        KafkaProducer<String, String> other = producer(transactional);
        KafkaConsumer<String, String> consumer = consumer(reading)) {
      boolean works = attempt("produce", () -> producer.send(new ProducerRecord<>(topic, "one")).get())
          && attempt("group", () -> {
            consumer.subscribe(List.of(topic));
            read(consumer, "one");
            consumer.commitSync();
          })
          && attempt("transaction", () -> {
            other.initTransactions();
            other.beginTransaction();
            other.send(new ProducerRecord<>(topic, "two"));
            other.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)), consumer.groupMetadata());
            other.commitTransaction();
            read(consumer, "two");
          })
          && attempt("renewal", () -> {
            long end = System.nanoTime() + Long.parseLong(words.get("renewal_ms")) * 1_000_000;
            while (System.nanoTime() < end) {
              producer.send(new ProducerRecord<>(topic, "more")).get();
              read(consumer, "more");
              Thread.sleep(PAUSE_MS);
            }
          });
    }
  }

  private void beRefused() {
    Map<String, Object> settings = settings();
    settings.put("default.api.timeout.ms", 10_000);
    settings.put("request.timeout.ms", 5_000);
    try (Admin admin = Admin.create(settings)) {
      admin.describeCluster().nodes().get();
      Lines.emit("told", name, "error", "none");
    } catch (Exception e) {
      Lines.emit("told", name, "error", causeOf(e).getClass().getSimpleName());
      Lines.emit("told", name, "reason", firstCauseOf(e).getClass().getSimpleName());
    }
  }

  private void beDenied() {
    String topic = words.get("topic");
    Map<String, Object> transactional = settings();
    transactional.put("transactional.id", topic);
    Map<String, Object> idempotent = settings();
    idempotent.put("enable.idempotence", true);
    Map<String, Object> reading = settings();
    reading.put("group.id", topic);
    try {
      switch (words.get("action")) {
        case "produce" -> send(settings());
        case "idempotent" -> send(idempotent);
        case "read", "join" -> {
          try (KafkaConsumer<String, String> consumer = consumer(reading)) {
            consumer.subscribe(List.of(topic));
            read(consumer, "one");
          }
        }
        case "transact" -> {
          try (KafkaProducer<String, String> producer = begun(transactional)) {
            producer.send(new ProducerRecord<>(topic, "one")).get();
            producer.commitTransaction();
          }
        }
        case "offsets" -> {
          try (KafkaProducer<String, String> producer = begun(transactional)) {
            producer.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)), new ConsumerGroupMetadata(topic));
          }
        }
        case "describe" -> {
          try (Admin admin = Admin.create(settings())) {
            admin.describeTopics(List.of(topic)).allTopicNames().get();
          }
        }
        default -> {
          try (Admin admin = Admin.create(settings())) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
          }
        }
      }
      Lines.emit("told", name, "error", "ok");
    } catch (Exception e) {
      Lines.emit("told", name, "error", causeOf(e).getClass().getSimpleName());
    }
  }

  private void send(Map<String, Object> settings) throws Exception {
    try (KafkaProducer<String, String> producer = producer(settings)) {
      producer.send(new ProducerRecord<>(words.get("topic"), "one")).get();
    }
  }

  private static KafkaProducer<String, String> begun(Map<String, Object> settings) {
    KafkaProducer<String, String> producer = producer(settings);
    try {
      producer.initTransactions();
      producer.beginTransaction();
      return producer;
    } catch (RuntimeException e) {
      producer.close();
      throw e;
    }
  }

  private static KafkaProducer<String, String> producer(Map<String, Object> settings) {
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  private static KafkaConsumer<String, String> consumer(Map<String, Object> settings) {
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  private boolean attempt(String step, Step action) {
    try {
      action.run();
      Lines.emit("told", name, step, "ok");
      return true;
    } catch (Exception e) {
      e.printStackTrace();
      Lines.emit("told", name, step, causeOf(e).getClass().getSimpleName());
      return false;
    }
  }

  private static Throwable causeOf(Exception error) {
    Throwable told = error instanceof ExecutionException ? error.getCause() : error;
    // A producer that knows already that it is refused wraps the reason.
    boolean wraps = told.getClass() == KafkaException.class && told.getCause() != null;
    return wraps ? told.getCause() : told;
  }

  private static Throwable firstCauseOf(Throwable error) {
    return error.getCause() == null ? error : firstCauseOf(error.getCause());
  }

  private static void read(KafkaConsumer<String, String> consumer, String value) {
    long end = System.nanoTime() + TIMEOUT.toNanos();
    while (System.nanoTime() < end) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
        if (!record.value().equals(value)) {
          throw new IllegalStateException(record.value() + " is not " + value);
        }
        return;
      }
    }
    throw new IllegalStateException("no record " + value);
  }

  private Map<String, Object> settings() {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", words.get("bootstrap"));
    settings.put("security.protocol", words.get("protocol"));
    if (words.containsKey("ca")) {
      settings.put("ssl.truststore.type", "PEM");
      settings.put("ssl.truststore.location", words.get("ca"));
    }
    if (words.containsKey("certificate")) {
      settings.put("ssl.keystore.type", "PEM");
      settings.put("ssl.keystore.location", words.get("certificate"));
    }
    String mechanism = words.get("mechanism");
    if (mechanism != null) {
      settings.put("sasl.mechanism", mechanism);
      settings.put("sasl.jaas.config", module(mechanism));
    }
    return settings;
  }

  private String module(String mechanism) {
    if (mechanism.equals("OAUTHBEARER")) {
      return MODULES + "oauthbearer.OAuthBearerLoginModule required"
          + " unsecuredLoginStringClaim_sub=\"" + words.get("user") + "\" unsecuredLoginStringClaim_scope=\"" + words.get("scope") + "\";";
    }
    String login = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
    return MODULES + login + " required username=\"" + words.get("user") + "\" password=\"" + words.get("password") + "\";";
  }
}
