package brokerlite.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.connector.SupportsMetadata;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source kafka_segments for Spark's Java: only the columns that a query needs are read,
 * and without a row for each record.
 *
 * <p>Planning, reading, writing and streams are those of the data source in Python, by Spark's own
 * classes. Two things are added to them: the columns that Spark prunes are handed to Python as the
 * schema of the reader, as .schema(...) does; and a batch query asks for packed batches, one row
 * for many records, and reads them by columns.
 *
 * <p>pruned_columns.py compiles this file and PackedBatches.java with the compiler that Spark
 * brings for its generated code (Janino), against the very Spark that will run them. Janino ignores
 * type arguments, hence raw types.
 */
public class KafkaSegments extends PythonDataSourceV2 implements DataSourceRegister {
    private String name;

    public String shortName() {
        return "kafka_segments";
    }

    public void setShortName(String given) {
        this.name = given;
        super.setShortName(given);
    }

    public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
        return new SegmentsTable(this, this.name, schema);
    }
}

/** The table of a log directory. */
class SegmentsTable extends PythonTable {
    private final PythonDataSourceV2 source;

    SegmentsTable(PythonDataSourceV2 source, String name, StructType schema) {
        super(source, name, schema);
        this.source = source;
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
        return new SegmentsScanBuilder(this.source, this.name(), this.schema(), options);
    }
}

/** Notes filters and columns, and plans with both of them. */
class SegmentsScanBuilder extends PythonScanBuilder implements SupportsPushDownRequiredColumns {
    /** The name that asks Python for packed batches. */
    private static final String PACKED = "brokerlite.packed";

    private final PythonDataSourceV2 source;
    private final String name;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    private Filter[] filters = new Filter[0];
    private StructType wanted;

    SegmentsScanBuilder(
            PythonDataSourceV2 source,
            String name,
            StructType schema,
            CaseInsensitiveStringMap options) {
        super(source, name, schema, options);
        this.source = source;
        this.name = name;
        this.schema = schema;
        this.options = options;
        this.wanted = schema;
    }

    /** Spark filters the rows, too: a split has more of them than the wanted ones. */
    public Filter[] pushFilters(Filter[] given) {
        this.filters = given;
        return given;
    }

    public Filter[] pushedFilters() {
        return new Filter[0];
    }

    /** Structs are read whole, whatever fields of them are required. */
    public void pruneColumns(StructType required) {
        if (required.isEmpty()) {
            // An Arrow batch without columns has no rows that could be counted.
            this.wanted = new StructType(new StructField[] {this.narrowest()});
            return;
        }
        StructField[] fields = new StructField[required.length()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = this.schema.apply(required.fields()[i].name());
        }
        this.wanted = new StructType(fields);
    }

    private StructField narrowest() {
        StructField found = this.schema.fields()[0];
        for (int i = 1; i < this.schema.length(); i++) {
            StructField field = this.schema.fields()[i];
            if (field.dataType().defaultSize() < found.dataType().defaultSize()) {
                found = field;
            }
        }
        return found;
    }

    /** The columns of a packed batch are those of packed.py. */
    public Scan build() {
        int cells = PackedColumn.cellsOfFields(this.wanted);
        if (cells < 0) {
            return this.scanOf(this.wanted, this.filters);
        }
        int count = this.wanted.length();
        StructField[] fields = new StructField[count + 1 + cells];
        for (int i = 0; i < count; i++) {
            StructField field = this.wanted.apply(i);
            fields[i] = new StructField(field.name(), field.dataType(), true, field.metadata());
        }
        fields[count] = new StructField(PACKED, DataTypes.IntegerType, true, Metadata.empty());
        for (int i = 0; i < cells; i++) {
            fields[count + 1 + i] =
                    new StructField(PACKED + "." + i, DataTypes.BinaryType, true, Metadata.empty());
        }
        // Only streams read rows, and Spark pushes no filters into a stream. Pushing starts Python.
        Scan rows = this.scanOf(this.wanted, new Filter[0]);
        return new SegmentsScan(rows, this.scanOf(new StructType(fields), this.filters));
    }

    private Scan scanOf(StructType columns, Filter[] pushed) {
        PythonDataSourceV2 chosen = this.source;
        if (!columns.equals(this.schema)) {
            // A source keeps the reader that was made first, which has all columns.
            chosen = new PythonDataSourceV2();
            chosen.setShortName(this.name);
        }
        PythonScanBuilder inner = new PythonScanBuilder(chosen, this.name, columns, this.options);
        if (pushed.length > 0) {
            inner.pushFilters(pushed);
        }
        return inner.build();
    }
}

/** Reads packed batches in a batch query, rows in a stream. */
class SegmentsScan implements Scan, SupportsMetadata {
    private final Scan rows;
    private final Scan packed;
    private boolean isStream;

    SegmentsScan(Scan rows, Scan packed) {
        this.rows = rows;
        this.packed = packed;
    }

    public StructType readSchema() {
        return this.rows.readSchema();
    }

    public String description() {
        return this.rows.description();
    }

    public scala.collection.immutable.Map getMetaData() {
        return ((SupportsMetadata) this.rows).getMetaData();
    }

    public CustomMetric[] supportedCustomMetrics() {
        return this.rows.supportedCustomMetrics();
    }

    public Batch toBatch() {
        return new PackedBatches(this.packed.toBatch(), this.readSchema());
    }

    /** Spark asks for the stream before it asks for this. */
    public Scan.ColumnarSupportMode columnarSupportMode() {
        return this.isStream
                ? Scan.ColumnarSupportMode.UNSUPPORTED
                : Scan.ColumnarSupportMode.SUPPORTED;
    }

    public MicroBatchStream toMicroBatchStream(String checkpoint) {
        this.isStream = true;
        return this.rows.toMicroBatchStream(checkpoint);
    }
}
