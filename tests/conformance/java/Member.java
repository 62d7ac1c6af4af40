// A member of a group with the Java client; tests/conformance/clients.py says what it does.

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

public class Member {
  public static void main(String[] arguments) {
    Lines lines = new Lines(arguments);
    String topic = lines.options.get("topic");
    try (KafkaConsumer<String, String> consumer = lines.consumer()) {
      consumer.subscribe(List.of(topic), new Lines.Owned());
      for (List<String> command = lines.commands.poll(); !Lines.LEAVE.equals(command); command = lines.commands.poll()) {
        if (command != null) {
          consumer.seek(new TopicPartition(topic, Integer.parseInt(command.get(1))), Long.parseLong(command.get(2)));
          Lines.emit("done", command.toArray());
        }
        take(consumer, consumer.poll(Duration.ofMillis(100)));
      }
    }
  }

  private static void take(KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records) {
    for (TopicPartition partition : records.partitions()) {
      long end = -1;
      for (ConsumerRecord<String, String> record : records.records(partition)) {
        Lines.emit("read", partition.partition(), record.offset(), record.value());
        end = record.offset() + 1;
      }
      try {
        consumer.commitSync(Map.of(partition, new OffsetAndMetadata(end)), Duration.ofSeconds(5));
        Lines.emit("committed", partition.partition(), end);
      } catch (KafkaException e) {
        Lines.emit("refused", Lines.nameOf(e));
      }
    }
  }
}
