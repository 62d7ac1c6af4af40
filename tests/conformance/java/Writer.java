// A producer with the Java client; tests/conformance/clients.py lists its commands.

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Writer {
  private static final long PAUSE_MS = 10;
  private final String topic;
  private final KafkaProducer<String, String> producer;
  private volatile boolean stopping;
  private Thread load;

  private Writer(String topic, KafkaProducer<String, String> producer) {
    this.topic = topic;
    this.producer = producer;
  }

  public static void main(String[] arguments) throws InterruptedException {
    Lines lines = new Lines(arguments);
    Map<String, Object> settings = new HashMap<>();
    settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, lines.options.get("bootstrap"));
    settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, lines.options.get("idempotent"));
    settings.put(ProducerConfig.ACKS_CONFIG, lines.options.get("acks"));
    settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, lines.options.get("request_ms"));
    settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, lines.options.get("delivery_ms"));
    settings.put(ProducerConfig.LINGER_MS_CONFIG, 0);
    settings.put(ProducerConfig.RETRY_BACKOFF_MS_CONFIG, 50);
    settings.put(ProducerConfig.RETRY_BACKOFF_MAX_MS_CONFIG, 300);
    settings.put(ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG, 500);
    settings.put(ProducerConfig.METADATA_MAX_AGE_CONFIG, 2000);
    try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      Writer writer = new Writer(lines.options.get("topic"), producer);
      lines.serve(writer::execute);
    }
  }

  private List<?> execute(List<String> command) throws Exception {
    switch (command.get(0)) {
      case "send" -> {
        int partition = Integer.parseInt(command.get(1));
        return List.of(partition, producer.send(new ProducerRecord<>(topic, partition, null, command.get(2))).get().offset());
      }
      case "load" -> {
        int partitions = Integer.parseInt(command.get(1));
        load = new Thread(() -> write(partitions));
        load.start();
      }
      case "stop" -> {
        stopping = true;
        load.join();
        producer.flush();
      }
      case "leaders" -> {
        return producer.partitionsFor(topic).stream().map(each -> each.partition() + ":" + each.leader().id()).collect(Collectors.toList());
      }
      default -> throw new IllegalArgumentException(command.get(0));
    }
    return List.of();
  }

  private void write(int partitions) {
    for (int number = 0; !stopping; number++) {
      for (int partition = 0; partition < partitions; partition++) {
        send(partition, String.valueOf(number));
      }
      try {
        Thread.sleep(PAUSE_MS);
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void send(int partition, String value) {
    producer.send(new ProducerRecord<>(topic, partition, null, value), (sent, error) -> {
      if (error == null) {
        Lines.emit("acked", partition, sent.offset(), value);
      } else {
        Lines.emit("lost", partition, value, Lines.nameOf(error));
      }
    });
  }
}
