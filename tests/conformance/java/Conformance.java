// Everything that an application does with the Java client without a group: run as `java -cp CLASSES:JARS Conformance BOOTSTRAP PREFIX`.
// Prints one line a step; the first difference ends it with a stack trace and exit code 1.

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Conformance {
  static final long START = 1_700_000_000_000L;
  static final int PARTITIONS = 3;
  static String bootstrap;
  static String prefix;

  public static void main(String[] args) throws Exception {
    bootstrap = args[0];
    prefix = args[1];
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
        for (boolean idempotent : new boolean[] {true, false}) {
          codec(admin, codec, idempotent);
        }
      }
      manyPartitions(admin);
      admin(admin);
    }
    System.out.println("all steps passed");
  }

  static void codec(Admin admin, String codec, boolean idempotent) throws Exception {
    String topic = prefix + "-" + codec + "-" + idempotent;
    admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1).configs(Map.of("max.message.bytes", "6000000")))).all().get();
    List<ProducerRecord<byte[], byte[]>> sent = records(topic);
    List<RecordMetadata> acknowledged = produce(codec, idempotent, sent);
    Map<TopicPartition, List<ProducerRecord<byte[], byte[]>>> expected = new HashMap<>();
    for (int i = 0; i < sent.size(); i++) {
      TopicPartition partition = new TopicPartition(topic, acknowledged.get(i).partition());
      List<ProducerRecord<byte[], byte[]>> list = expected.computeIfAbsent(partition, p -> new ArrayList<>());
      check(acknowledged.get(i).offset() == list.size(), "offset " + acknowledged.get(i).offset() + " is not " + list.size());
      list.add(sent.get(i));
    }
    for (String isolation : List.of("read_uncommitted", "read_committed")) {
      readBack(topic, expected, isolation);
    }
    byTimestamp(topic, expected);
    System.out.println("codec " + codec + " idempotent " + idempotent + ": " + sent.size() + " records");
  }

  static List<ProducerRecord<byte[], byte[]>> records(String topic) {
    Random random = new Random(7);
    List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
    int[] sizes = {1, 0, 100, 1000, 16_384, 100_000, 1_000_000, 5_000_000};
    for (int i = 0; i < 200; i++) {
      byte[] value = new byte[i < sizes.length ? sizes[i] : random.nextInt(300)];
      random.nextBytes(value);
      byte[] key = i % 3 == 0 ? null : ("key-" + i).getBytes(StandardCharsets.UTF_8);
      ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, i % PARTITIONS, START + i * 1000L, key, i % 17 == 16 ? null : value);
      if (i % 4 == 1) {
        record.headers().add("a", null).add("a", new byte[0]).add("schlüssel", "wert".getBytes(StandardCharsets.UTF_8)).add("", new byte[] {0, -1});
      }
      records.add(record);
    }
    return records;
  }

  static List<RecordMetadata> produce(String codec, boolean idempotent, List<ProducerRecord<byte[], byte[]>> records) throws Exception {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("compression.type", codec);
    settings.put("enable.idempotence", idempotent);
    settings.put("acks", idempotent ? "all" : "1");
    settings.put("max.in.flight.requests.per.connection", idempotent ? 5 : 1);
    settings.put("max.request.size", 6_000_000);
    settings.put("linger.ms", 2);
    List<RecordMetadata> acknowledged = new ArrayList<>();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
      List<Future<RecordMetadata>> futures = new ArrayList<>();
      for (ProducerRecord<byte[], byte[]> record : records) {
        futures.add(producer.send(record));
      }
      for (Future<RecordMetadata> future : futures) {
        acknowledged.add(future.get());
      }
    }
    return acknowledged;
  }

  static KafkaConsumer<byte[], byte[]> consumer(String isolation) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    settings.put("isolation.level", isolation);
    settings.put("enable.auto.commit", "false");
    return new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  static void readBack(String topic, Map<TopicPartition, List<ProducerRecord<byte[], byte[]>>> expected, String isolation) {
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(isolation)) {
      Collection<TopicPartition> partitions = expected.keySet();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      int total = expected.values().stream().mapToInt(List::size).sum();
      Map<TopicPartition, Integer> next = new HashMap<>();
      int seen = 0;
      long deadline = System.currentTimeMillis() + 30_000;
      while (seen < total) {
        check(System.currentTimeMillis() < deadline, "only " + seen + " of " + total + " records in time");
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          TopicPartition partition = new TopicPartition(topic, record.partition());
          int index = next.merge(partition, 1, Integer::sum) - 1;
          check(record.offset() == index, "offset " + record.offset() + " is not " + index);
          same(expected.get(partition).get(index), record);
          seen++;
        }
      }
      consumer.seekToEnd(partitions);
      for (TopicPartition partition : partitions) {
        check(consumer.position(partition) == expected.get(partition).size(), "end of " + partition);
      }
    }
  }

  static void same(ProducerRecord<byte[], byte[]> sent, ConsumerRecord<byte[], byte[]> read) {
    check(Arrays.equals(sent.key(), read.key()), "key");
    check(Arrays.equals(sent.value(), read.value()), "value");
    check(sent.timestamp() == read.timestamp(), "timestamp");
    Header[] a = sent.headers().toArray();
    Header[] b = read.headers().toArray();
    check(a.length == b.length, "header count");
    for (int i = 0; i < a.length; i++) {
      check(a[i].key().equals(b[i].key()) && Arrays.equals(a[i].value(), b[i].value()), "header " + i);
    }
  }

  static void byTimestamp(String topic, Map<TopicPartition, List<ProducerRecord<byte[], byte[]>>> expected) {
    try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
      for (int i : new int[] {0, 1, 50, 100, 197}) {
        TopicPartition partition = new TopicPartition(topic, i % PARTITIONS);
        var found = consumer.offsetsForTimes(Map.of(partition, START + i * 1000L)).get(partition);
        check(found != null && found.offset() == i / PARTITIONS && found.timestamp() == START + i * 1000L, "timestamp of record " + i + ": " + found);
      }
      TopicPartition partition = new TopicPartition(topic, 0);
      check(consumer.offsetsForTimes(Map.of(partition, START * 2)).get(partition) == null, "a time after the last record");
      check(consumer.beginningOffsets(List.of(partition)).get(partition) == 0, "beginning");
    }
  }

  static void manyPartitions(Admin admin) throws Exception {
    String topic = prefix + "-many";
    admin.createTopics(List.of(new NewTopic(topic, 60, (short) 1))).all().get();
    Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
    IntStream.range(0, 60).forEach(p -> latest.put(new TopicPartition(topic, p), OffsetSpec.latest()));
    check(admin.listOffsets(latest).all().get().values().stream().allMatch(o -> o.offset() == 0), "new partitions are empty");
    List<ProducerRecord<byte[], byte[]>> records = IntStream.range(0, 3000)
        .mapToObj(i -> new ProducerRecord<>(topic, ("k" + i).getBytes(), ("v" + i).getBytes())).toList();
    List<RecordMetadata> acknowledged = produce("lz4", true, records);
    Map<TopicPartition, List<String>> expected = new HashMap<>();
    for (int i = 0; i < records.size(); i++) {
      expected.computeIfAbsent(new TopicPartition(topic, acknowledged.get(i).partition()), p -> new ArrayList<>()).add("v" + i);
    }
    Map<TopicPartition, List<String>> read = new HashMap<>();
    try (KafkaConsumer<byte[], byte[]> consumer = consumer("read_uncommitted")) {
      List<TopicPartition> partitions = IntStream.range(0, 60).mapToObj(p -> new TopicPartition(topic, p)).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long deadline = System.currentTimeMillis() + 30_000;
      int seen = 0;
      while (seen < records.size()) {
        check(System.currentTimeMillis() < deadline, "only " + seen + " records in time");
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
          read.computeIfAbsent(new TopicPartition(topic, record.partition()), p -> new ArrayList<>()).add(new String(record.value()));
          seen++;
        }
      }
    }
    check(read.equals(expected), "records of 60 partitions differ");
    System.out.println("many partitions: " + records.size() + " records in " + expected.size());
  }

  static void admin(Admin admin) throws Exception {
    String topic = prefix + "-admin";
    admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1).configs(Map.of("cleanup.policy", "compact")))).all().get();
    check(admin.listTopics().names().get().contains(topic), "listTopics");
    check(admin.describeTopics(Set.of(topic)).allTopicNames().get().get(topic).partitions().size() == 2, "describeTopics");
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    check(admin.describeConfigs(Set.of(resource)).all().get().get(resource).get("cleanup.policy").value().equals("compact"), "describeConfigs");
    admin.incrementalAlterConfigs(Map.of(resource, List.of(
        new AlterConfigOp(new ConfigEntry("retention.ms", "123456"), AlterConfigOp.OpType.SET),
        new AlterConfigOp(new ConfigEntry("cleanup.policy", "delete"), AlterConfigOp.OpType.APPEND)))).all().get();
    var configs = admin.describeConfigs(Set.of(resource)).all().get().get(resource);
    check(configs.get("retention.ms").value().equals("123456"), "altered retention.ms");
    check(configs.get("cleanup.policy").value().equals("compact,delete"), "appended cleanup.policy");
    admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(5))).all().get();
    check(admin.describeTopics(Set.of(topic)).allTopicNames().get().get(topic).partitions().size() == 5, "createPartitions");
    List<ProducerRecord<byte[], byte[]>> records = IntStream.range(0, 10)
        .mapToObj(i -> new ProducerRecord<>(topic, 4, "k".getBytes(), ("v" + i).getBytes())).toList();
    produce("none", true, records);
    TopicPartition partition = new TopicPartition(topic, 4);
    check(admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(4))).lowWatermarks().get(partition).get().lowWatermark() == 4, "deleteRecords");
    check(admin.listOffsets(Map.of(partition, OffsetSpec.earliest())).partitionResult(partition).get().offset() == 4, "earliest");
    check(admin.listOffsets(Map.of(partition, OffsetSpec.latest())).partitionResult(partition).get().offset() == 10, "latest");
    check(admin.listOffsets(Map.of(partition, OffsetSpec.maxTimestamp())).partitionResult(partition).get().timestamp() > START, "max timestamp");
    check(admin.describeCluster().nodes().get().size() == 1, "describeCluster");
    check(admin.describeLogDirs(List.of(admin.describeCluster().nodes().get().iterator().next().id())).allDescriptions().get().size() == 1, "describeLogDirs");
    check(!admin.describeProducers(List.of(partition)).partitionResult(partition).get().activeProducers().isEmpty(), "describeProducers");
    admin.deleteTopics(Set.of(topic)).all().get();
    check(!admin.listTopics().names().get().contains(topic), "deleteTopics");
    System.out.println("admin: create, describe, alter, grow, delete records, delete");
  }

  static void check(boolean condition, String what) {
    if (!condition) {
      throw new AssertionError(what);
    }
  }
}
