// Consume, transform, produce with the Java client; tests/conformance/clients.py says how.

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApplicationRecoverableException;

public class Transform {
  public static void main(String[] arguments) {
    Lines lines = new Lines(arguments);
    lines.options.put("isolation", "read_committed");
    try (KafkaProducer<String, String> producer = lines.producer(); KafkaConsumer<String, String> consumer = lines.consumer()) {
      producer.initTransactions();
      consumer.subscribe(List.of(lines.options.get("topic")), new Lines.Owned());
      while (!Lines.LEAVE.equals(lines.commands.poll())) {
        ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
        if (!records.isEmpty()) {
          try {
            move(producer, consumer, records, lines.options.get("output"));
          } catch (ApplicationRecoverableException e) {
            throw e;
          } catch (KafkaException e) {
            Lines.emit("gave_up", Lines.nameOf(e));
            producer.abortTransaction();
            rewind(consumer);
          }
        }
      }
    }
  }

  private static void move(
      KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer, ConsumerRecords<String, String> records, String output) {
    Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
    producer.beginTransaction();
    for (ConsumerRecord<String, String> record : records) {
      producer.send(new ProducerRecord<>(output, record.partition(), null, record.partition() + ":" + record.offset()));
      ends.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
    }
    producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
    producer.commitTransaction();
    Lines.emit("moved", records.count());
  }

  private static void rewind(KafkaConsumer<String, String> consumer) {
    consumer.committed(consumer.assignment()).forEach((partition, position) -> consumer.seek(partition, position == null ? 0 : position.offset()));
  }
}
