// A transactional producer with the Java client; tests/conformance/clients.py lists its commands.

import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

public class Transactor {
  public static void main(String[] arguments) throws InterruptedException {
    Lines lines = new Lines(arguments);
    try (KafkaProducer<String, String> producer = lines.producer()) {
      lines.serve(command -> execute(lines, producer, command));
    }
  }

  private static List<?> execute(Lines lines, KafkaProducer<String, String> producer, List<String> command) throws Exception {
    switch (command.get(0)) {
      case "init" -> producer.initTransactions();
      case "begin" -> producer.beginTransaction();
      case "send" -> producer.send(new ProducerRecord<>(lines.options.get("topic"), Integer.parseInt(command.get(1)), null, command.get(2))).get();
      case "offset" -> {
        TopicPartition partition = new TopicPartition(command.get(2), Integer.parseInt(command.get(3)));
        OffsetAndMetadata position = new OffsetAndMetadata(Long.parseLong(command.get(4)));
        lines.options.put("group", command.get(1));
        try (KafkaConsumer<String, String> consumer = lines.consumer()) {
          producer.sendOffsetsToTransaction(Map.of(partition, position), consumer.groupMetadata());
        }
      }
      case "commit" -> producer.commitTransaction();
      case "abort" -> producer.abortTransaction();
      default -> throw new IllegalArgumentException(command.get(0));
    }
    return List.of();
  }
}
