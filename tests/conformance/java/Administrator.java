// Groups administered with the Java client; tests/conformance/clients.py lists the commands.

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

public class Administrator {
  public static void main(String[] arguments) throws InterruptedException {
    Lines lines = new Lines(arguments);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", lines.options.get("bootstrap")))) {
      lines.serve(command -> execute(admin, command));
    }
  }

  private static List<?> execute(Admin admin, List<String> command) throws Exception {
    if (command.get(0).equals("list")) {
      return admin.listGroups().all().get().stream().map(GroupListing::groupId).toList();
    }
    String group = command.get(1);
    switch (command.get(0)) {
      case "state" -> {
        ConsumerGroupDescription described = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        return List.of(described.groupState().toString().toLowerCase(Locale.ROOT), described.members().size());
      }
      case "offsets" -> {
        var found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        return found.entrySet().stream().map(each -> each.getKey().partition() + ":" + each.getValue().offset()).toList();
      }
      case "alter" -> admin.alterConsumerGroupOffsets(group, Map.of(partition(command), new OffsetAndMetadata(Long.parseLong(command.get(4))))).all().get();
      case "forget" -> admin.deleteConsumerGroupOffsets(group, Set.of(partition(command))).all().get();
      case "delete" -> admin.deleteConsumerGroups(List.of(group)).all().get();
      default -> throw new IllegalArgumentException(command.get(0));
    }
    return List.of();
  }

  private static TopicPartition partition(List<String> command) {
    return new TopicPartition(command.get(2), Integer.parseInt(command.get(3)));
  }
}
