import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PartitionAssignment;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Asks Kafka's controller code what it does, one question a line of standard input, one line of
 * answer each. Numbers are separated by commas; "-" stands for a list that is not given.
 *
 * elect LEADER LEADER_EPOCH PARTITION_EPOCH REPLICAS ISR ELR LAST_KNOWN RECOVERING NEW_ISR
 *     NEW_REPLICAS ELECTION MIN_ISR TRACKS_ELR ACCEPTABLE UNCLEAN ADDING REMOVING NEW_ADDING
 *     NEW_REMOVING: the record in hex, or "none".
 * place DRAW FACTOR COUNT ID/RACK/FENCED ...: the replicas of each partition, or "refused TEXT".
 */
public final class DecideElections {
    private static final Uuid TOPIC_ID = new Uuid(0x6969696969696969L, 0x6969696969696969L);
    private static final int PARTITION = 3;

    private DecideElections() {}

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println("answer " + (words[0].equals("elect") ? elect(words) : place(words)));
            System.out.flush();
        }
    }

    private static String elect(String[] words) {
        int[] replicas = numbers(words[4]);
        PartitionRegistration before = new PartitionRegistration.Builder()
            .setLeader(Integer.parseInt(words[1]))
            .setLeaderEpoch(Integer.parseInt(words[2]))
            .setPartitionEpoch(Integer.parseInt(words[3]))
            .setReplicas(replicas)
            .setDirectories(Arrays.stream(replicas).mapToObj(DecideElections::directory).toArray(Uuid[]::new))
            .setIsr(numbers(words[5]))
            .setElr(numbers(words[6]))
            .setLastKnownElr(numbers(words[7]))
            .setLeaderRecoveryState(Boolean.parseBoolean(words[8])
                ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
            .setAddingReplicas(numbers(words[16]))
            .setRemovingReplicas(numbers(words[17]))
            .build();
        Set<Integer> acceptable = Arrays.stream(numbers(words[14])).boxed().collect(Collectors.toSet());
        PartitionChangeBuilder builder = new PartitionChangeBuilder(before, TOPIC_ID, PARTITION,
            acceptable::contains, MetadataVersion.LATEST_PRODUCTION, Integer.parseInt(words[12]),
            Boolean.parseBoolean(words[13]));
        if (!words[9].equals("-")) {
            builder.setTargetIsr(list(words[9]));
        }
        if (!words[10].equals("-")) {
            builder.setTargetReplicas(list(words[10]));
            builder.setTargetAdding(list(words[18]));
            builder.setTargetRemoving(list(words[19]));
        }
        builder.setElection(PartitionChangeBuilder.Election.valueOf(words[11]));
        builder.setUncleanShutdownReplicas(list(words[15]));
        builder.setDefaultDirProvider(DecideElections::directory);
        return builder.build().map(DecideElections::hex).orElse("none");
    }

    private static String place(String[] words) {
        List<UsableBroker> brokers = new ArrayList<>();
        for (int i = 4; i < words.length; i++) {
            String[] parts = words[i].split("/");
            Optional<String> rack = parts[1].equals("-") ? Optional.empty() : Optional.of(parts[1]);
            brokers.add(new UsableBroker(Integer.parseInt(parts[0]), rack, Boolean.parseBoolean(parts[2])));
        }
        ClusterDescriber cluster = new ClusterDescriber() {
            @Override
            public Iterator<UsableBroker> usableBrokers() {
                return brokers.iterator();
            }

            @Override
            public Uuid defaultDir(int brokerId) {
                return directory(brokerId);
            }
        };
        StripedReplicaPlacer placer = new StripedReplicaPlacer(new Constant(Integer.parseInt(words[1])));
        PlacementSpec wanted =
            new PlacementSpec(0, Integer.parseInt(words[3]), Short.parseShort(words[2]));
        try {
            return placer.place(wanted, cluster).assignments().stream()
                .map(PartitionAssignment::replicas)
                .map(replicas -> replicas.stream().map(String::valueOf).collect(Collectors.joining(",")))
                .collect(Collectors.joining(" "));
        } catch (ApiException error) {
            return "refused " + error.getMessage();
        }
    }

    private static Uuid directory(int broker) {
        return new Uuid(0, broker);
    }

    private static int[] numbers(String text) {
        return text.equals("-") ? new int[0] : Stream.of(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    private static List<Integer> list(String text) {
        return text.equals("-") || text.equals("none")
            ? List.of() : Arrays.stream(numbers(text)).boxed().toList();
    }

    private static String hex(ApiMessageAndVersion record) {
        MetadataRecordSerde serde = MetadataRecordSerde.INSTANCE;
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(serde.recordSize(record, cache));
        serde.write(record, cache, new ByteBufferAccessor(buffer));
        return HexFormat.of().formatHex(buffer.array());
    }

    /** Draws the same number every time, as far as the bound allows. */
    private static final class Constant extends Random {
        private final int drawn;

        Constant(int drawn) {
            this.drawn = drawn;
        }

        @Override
        public int nextInt(int bound) {
            return drawn % bound;
        }
    }
}
