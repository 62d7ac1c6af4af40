import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ScheduledFuture;
import java.util.zip.CRC32;
import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Loads partitions' directories as a Kafka does at its start, one a line of standard input, and
 * tells in one line each what came of it. The files are left as the start leaves them.
 *
 * Input: DIRECTORY CLEAN RECOVERY_POINT LOG_START_OFFSET READ_ALL. Arguments: topic settings as NAME=VALUE.
 */
public final class LoadLogs {
    private static final int READ_BYTES_MAX = 1 << 20;
    private static final int LOOKUPS_MAX = 200;
    private static final int PRODUCERS_EXPIRE_MS = 86_400_000;

    private LoadLogs() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> settings = new java.util.HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        LogConfig config = new LogConfig(settings);
        BrokerTopicStats stats = new BrokerTopicStats();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println(load(words, config, stats));
            System.out.flush();
        }
    }

    private static String load(String[] words, LogConfig config, BrokerTopicStats stats) {
        File directory = new File(words[0]);
        ProducerStateManagerConfig producers =
            new ProducerStateManagerConfig(PRODUCERS_EXPIRE_MS, false);
        UnifiedLog log = null;
        try {
            log = UnifiedLog.create(directory, config, Long.parseLong(words[3]),
                Long.parseLong(words[2]), new AtOnce(), stats, Time.SYSTEM, 900_000, producers,
                600_000, new LogDirFailureChannel(1), Boolean.parseBoolean(words[1]),
                Optional.empty(), new java.util.concurrent.ConcurrentHashMap<>(), false,
                LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
            log.updateHighWatermark(log.logEndOffset());
            return String.join(" ", "loaded", String.valueOf(log.logStartOffset()),
                String.valueOf(log.logEndOffset()), String.valueOf(log.recoveryPoint()),
                String.valueOf(log.lastStableOffset()),
                Boolean.parseBoolean(words[4]) ? content(log) + " " + lookups(log) : "- -");
        } catch (Throwable error) {
            String text = String.valueOf(error.getMessage()).replace('\n', ' ');
            return "failed " + error.getClass().getSimpleName() + " " + text;
        } finally {
            if (log != null) {
                log.closeHandlers();
            }
        }
    }

    /** Reads everything from the log start on; gives the checksum and size of what was read. */
    private static String content(UnifiedLog log) {
        CRC32 checksum = new CRC32();
        long size = 0;
        long offset = log.logStartOffset();
        try {
            while (offset < log.logEndOffset()) {
                FileRecords records = (FileRecords)
                    log.read(offset, READ_BYTES_MAX, FetchIsolation.LOG_END, true).records;
                long next = offset;
                for (RecordBatch batch : records.batches()) {
                    next = Math.max(next, batch.nextOffset());
                }
                ByteBuffer buffer = ByteBuffer.allocate(records.sizeInBytes());
                records.readInto(buffer, 0);
                checksum.update(buffer.array());
                size += buffer.capacity();
                if (next == offset) {
                    return size + ":" + checksum.getValue() + ":stuck";
                }
                offset = next;
            }
        } catch (Throwable error) {
            boolean isCorrupt = error instanceof CorruptRecordException;
            String end = isCorrupt ? "unreadable" : error.getClass().getSimpleName();
            return size + ":" + checksum.getValue() + ":" + end;
        }
        return size + ":" + checksum.getValue() + ":end";
    }

    /** Reads the batch of each offset; gives a checksum of what was found. */
    private static long lookups(UnifiedLog log) {
        CRC32 checksum = new CRC32();
        long end = Math.min(log.logEndOffset(), log.logStartOffset() + LOOKUPS_MAX);
        for (long offset = log.logStartOffset(); offset < end; offset++) {
            String found;
            try {
                found = String.valueOf(
                    log.read(offset, 1, FetchIsolation.LOG_END, true).records.sizeInBytes());
            } catch (Throwable error) {
                found = "error";
            }
            checksum.update((offset + ":" + found + ";").getBytes());
        }
        return checksum.getValue();
    }

    /** Does at once what has no delay, and the rest never: the files of deleted segments stay. */
    private static final class AtOnce implements Scheduler {
        @Override
        public void startup() {}

        @Override
        public void shutdown() {}

        @Override
        public void resizeThreadPool(int size) {}

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs == 0 && periodMs < 0) {
                task.run();
            }
            return null;
        }
    }
}
