package brokerlite.spark;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source kafka_segments for Spark's Java: only the columns that a query needs are read.
 *
 * <p>Planning, reading, writing and streams are those of the data source in Python, by Spark's own
 * classes. One thing is added to them: the columns that Spark prunes are handed to Python as the
 * schema of the reader, as .schema(...) does.
 *
 * <p>pruned_columns.py compiles this file with the compiler that Spark brings for its generated
 * code (Janino), against the very Spark that will run it. Janino ignores type arguments, hence raw
 * types.
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

    public Scan build() {
        PythonDataSourceV2 pruned = this.source;
        if (!this.wanted.equals(this.schema)) {
            // A source keeps the reader that was made first, which has all columns.
            pruned = new PythonDataSourceV2();
            pruned.setShortName(this.name);
        }
        PythonScanBuilder inner =
                new PythonScanBuilder(pruned, this.name, this.wanted, this.options);
        if (this.filters.length > 0) {
            inner.pushFilters(this.filters);
        }
        return inner.build();
    }
}
