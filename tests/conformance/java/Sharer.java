// A member of a share group with the Java client; tests/conformance/clients.py lists its commands.

import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Sharer {
  private static final Map<String, ConsumerRecord<String, String>> HELD = new HashMap<>();
  private static final Set<String> RENEWED = new HashSet<>();

  public static void main(String[] arguments) throws InterruptedException {
    Lines lines = new Lines(arguments);
    try (KafkaShareConsumer<String, String> consumer = consumer(lines.options)) {
      consumer.subscribe(List.of(lines.options.get("topic")));
      lines.serve(command -> execute(consumer, command));
    }
  }

  private static KafkaShareConsumer<String, String> consumer(Map<String, String> options) {
    Map<String, Object> settings = new HashMap<>();
    settings.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, options.get("bootstrap"));
    settings.put(ConsumerConfig.GROUP_ID_CONFIG, options.get("group"));
    settings.put(ConsumerConfig.SHARE_ACKNOWLEDGEMENT_MODE_CONFIG, options.get("mode"));
    settings.put(ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG, 100);
    settings.put(ConsumerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 500);
    if (options.containsKey("max")) {
      settings.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, Integer.parseInt(options.get("max")));
      settings.put(ConsumerConfig.SHARE_ACQUIRE_MODE_CONFIG, "record_limit");
    }
    return new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
  }

  private static List<?> execute(KafkaShareConsumer<String, String> consumer, List<String> command) {
    switch (command.get(0)) {
      case "take" -> {
        HELD.clear();
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(Long.parseLong(command.get(1))))) {
          HELD.put(record.value(), record);
          Lines.emit("got", record.partition(), record.offset(), record.value(), record.deliveryCount().orElseThrow());
        }
        return List.of(HELD.size());
      }
      case "say" -> {
        AcknowledgeType kind = AcknowledgeType.valueOf(command.get(1).toUpperCase());
        List<String> values = command.subList(2, command.size());
        values.forEach(value -> consumer.acknowledge(HELD.get(value), kind));
        if (kind == AcknowledgeType.RENEW) {
          RENEWED.addAll(values);
        }
      }
      case "commit" -> {
        for (Optional<KafkaException> refusal : consumer.commitSync().values()) {
          refusal.ifPresent(error -> { throw error; });
        }
        // nothing can be said of a renewed record before a poll has given it back
        while (!RENEWED.isEmpty()) {
          for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
            HELD.put(record.value(), record);
            RENEWED.remove(record.value());
          }
        }
      }
      default -> throw new IllegalArgumentException(command.get(0));
    }
    return List.of();
  }
}
