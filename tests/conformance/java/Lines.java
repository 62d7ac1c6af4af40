// What the Java programs under test share: options, commands read from standard input, events printed by lines.
// tests/conformance/program.py says how the lines look.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

class Lines {
  static final List<String> LEAVE = List.of("leave");

  interface Executor {
    List<?> execute(List<String> command) throws Exception;
  }

  final LinkedBlockingQueue<List<String>> commands = new LinkedBlockingQueue<>();
  final Map<String, String> options = new HashMap<>();

  Lines(String[] arguments) {
    for (String argument : arguments) {
      String[] pair = argument.split("=", 2);
      options.put(pair[0], pair[1]);
    }
    Thread reader = new Thread(this::read);
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        commands.add(List.of(line.split(" ")));
      }
    } catch (IOException e) {
      System.err.println(e);
    }
    commands.add(LEAVE);
  }

  static synchronized void emit(String kind, Object... words) {
    StringBuilder line = new StringBuilder().append(Instant.now().toEpochMilli()).append(' ').append(kind);
    for (Object word : words) {
      line.append(' ').append(word);
    }
    System.out.println(line);
    System.out.flush();
  }

  static String nameOf(Throwable error) {
    Throwable cause = error.getCause() == null ? error : error.getCause();
    return (cause.getClass().getSimpleName() + ":" + cause.getMessage()).replaceAll("\\s", "_");
  }

  void serve(Executor executor) throws InterruptedException {
    for (List<String> command = commands.take(); !command.equals(LEAVE); command = commands.take()) {
      try {
        String words = executor.execute(command).stream().map(String::valueOf).collect(Collectors.joining(" "));
        emit("done", command.get(0), words);
      } catch (Exception e) {
        emit("failed", command.get(0), nameOf(e));
      }
    }
  }

  KafkaConsumer<String, String> consumer() {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, options.get("group"));
    settings.put(ConsumerConfig.GROUP_PROTOCOL_CONFIG, options.get("protocol"));
    settings.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, options.getOrDefault("isolation", "read_uncommitted"));
    settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, options.getOrDefault("reset", "earliest"));
    settings.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
    settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 20);
    settings.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 500);
    if (options.containsKey("instance")) {
      settings.put(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG, options.get("instance"));
    }
    if (options.get("protocol").equals("classic")) {
      int session = Integer.parseInt(options.get("session_ms"));
      settings.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, session);
      settings.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, Integer.parseInt(options.get("heartbeat_ms")));
      String assignor = options.get("assignor").equals("cooperative") ? "CooperativeSticky" : "Range";
      settings.put(ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG, "org.apache.kafka.clients.consumer." + assignor + "Assignor");
    }
    return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  KafkaProducer<String, String> producer() {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
    settings.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, options.get("transactional_id"));
    settings.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, Integer.parseInt(options.get("timeout_ms")));
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 500);
    return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
  }

  // What a member owns; each change is an event.
  static class Owned implements ConsumerRebalanceListener {
    private final TreeSet<Integer> partitions = new TreeSet<>();

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
      assigned.forEach(each -> partitions.add(each.partition()));
      tell();
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
      revoked.forEach(each -> partitions.remove(each.partition()));
      tell();
    }

    private void tell() {
      emit("assigned", partitions.stream().map(String::valueOf).collect(Collectors.joining(",")));
    }
  }
}
