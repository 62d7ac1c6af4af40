import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.HdrHistogram.Histogram;

/** Reads shares, then values; prints what HdrHistogram says of the values. */
public class Percentiles {
    public static void main(String[] arguments) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        String[] shares = input.readLine().split(" ");
        Histogram histogram = new Histogram(1, Long.MAX_VALUE / 2, 5);
        String line;
        while ((line = input.readLine()) != null) {
            histogram.recordValue(Long.parseLong(line));
        }
        for (String share : shares) {
            System.out.println(histogram.getValueAtPercentile(100 * Double.parseDouble(share)));
        }
        System.out.println(histogram.getTotalCount());
        System.out.println(histogram.getMaxValue());
    }
}
