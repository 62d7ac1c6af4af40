package brokerlite.spark;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Partitions of packed batches. */
class PackedBatches implements Batch {
    private final Batch inner;
    private final StructType schema;

    PackedBatches(Batch inner, StructType schema) {
        this.inner = inner;
        this.schema = schema;
    }

    public InputPartition[] planInputPartitions() {
        return this.inner.planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
        return new PackedReaderFactory(this.inner.createReaderFactory(), this.schema);
    }
}

/** Makes readers of packed batches; it goes to the executors. */
class PackedReaderFactory implements PartitionReaderFactory {
    private final PartitionReaderFactory inner;
    private final StructType schema;

    PackedReaderFactory(PartitionReaderFactory inner, StructType schema) {
        this.inner = inner;
        this.schema = schema;
    }

    public boolean supportColumnarReads(InputPartition partition) {
        return true;
    }

    public PartitionReader createReader(InputPartition partition) {
        throw new UnsupportedOperationException("there are only columnar reads");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
        return new PackedReader(this.inner.createReader(partition), this.schema);
    }
}

/** Gives the packed batches of one partition as columnar batches. */
class PackedReader implements PartitionReader {
    private final PartitionReader inner;
    private final StructType schema;

    PackedReader(PartitionReader inner, StructType schema) {
        this.inner = inner;
        this.schema = schema;
    }

    public boolean next() throws IOException {
        return this.inner.next();
    }

    public Object get() {
        UnsafeRow row = (UnsafeRow) this.inner.get();
        int count = this.schema.length();
        PackedCells cells = new PackedCells(row, count + 1);
        ColumnVector[] columns = new ColumnVector[count];
        for (int i = 0; i < count; i++) {
            columns[i] = new PackedColumn(cells, this.schema.apply(i).dataType());
        }
        return new ColumnarBatch(columns, row.getInt(count));
    }

    public void initMetricsValues(CustomTaskMetric[] metrics) {
        this.inner.initMetricsValues(metrics);
    }

    public CustomTaskMetric[] currentMetricsValues() {
        return this.inner.currentMetricsValues();
    }

    public void close() throws IOException {
        this.inner.close();
    }
}

/** The cells of a row, one after the other: next() goes on to one, the others tell of it. */
class PackedCells {
    private final UnsafeRow row;
    private int ordinal;

    PackedCells(UnsafeRow row, int first) {
        this.row = row;
        this.ordinal = first - 1;
    }

    PackedCells next() {
        this.ordinal++;
        return this;
    }

    boolean isNull() {
        return this.row.isNullAt(this.ordinal);
    }

    /** The memory of all cells. */
    Object memory() {
        return this.row.getBaseObject();
    }

    /** Where in the memory the cell begins. */
    long begin() {
        return this.row.getBaseOffset() + (this.row.getLong(this.ordinal) >>> 32);
    }

    int length() {
        return (int) this.row.getLong(this.ordinal);
    }
}

/**
 * A column of a row of a packed batch. It lies in the memory of the row, which is good until the
 * next one, as with each columnar batch of Spark. So there is nothing to close.
 */
class PackedColumn extends ColumnVector {
    private static final int IMPOSSIBLE = -1;
    private static final int BITS_FROM = 8;
    private static final int DECIMAL_BYTES = 16;

    private final Object memory;
    private final boolean hasNull;
    private final long validity; // its first bit, counted from the begin of the memory
    private long data; // where it begins; of booleans the first bit
    private int[] begins;
    private int count;
    private PackedColumn[] children = new PackedColumn[0];

    PackedColumn(PackedCells cells, DataType type) {
        super(type);
        this.memory = cells.memory();
        this.hasNull = !cells.next().isNull();
        this.validity = this.hasNull ? this.firstBit(cells) : 0;
        if (type instanceof StructType) {
            StructType fields = (StructType) type;
            this.children = new PackedColumn[fields.length()];
            for (int i = 0; i < this.children.length; i++) {
                this.children[i] = new PackedColumn(cells, fields.apply(i).dataType());
                this.count = this.children[i].count;
            }
        } else if (type instanceof BooleanType) {
            this.data = this.firstBit(cells.next());
            this.count = Platform.getInt(this.memory, cells.begin());
        } else if (type instanceof StringType || type instanceof BinaryType) {
            this.setBegins(cells.next());
            this.data = cells.next().begin();
            this.begins[this.count] = cells.length();
        } else if (type instanceof ArrayType) {
            this.setBegins(cells.next());
            PackedColumn elements = new PackedColumn(cells, ((ArrayType) type).elementType());
            this.children = new PackedColumn[] {elements};
            this.begins[this.count] = elements.count;
        } else if (type instanceof MapType) {
            this.setBegins(cells.next());
            PackedColumn keys = new PackedColumn(cells, ((MapType) type).keyType());
            PackedColumn values = new PackedColumn(cells, ((MapType) type).valueType());
            this.children = new PackedColumn[] {keys, values};
            this.begins[this.count] = keys.count;
        } else {
            this.data = cells.next().begin();
            this.count = cells.length() / width(type);
        }
    }

    /** Returns how many cells a column of a type has; -1 if no packed batch has that type. */
    private static int cells(DataType type) {
        if (type instanceof StructType) {
            return sum(1, cellsOfFields((StructType) type));
        }
        if (type instanceof ArrayType) {
            return sum(2, cells(((ArrayType) type).elementType()));
        }
        if (type instanceof MapType) {
            MapType map = (MapType) type;
            return sum(2, sum(cells(map.keyType()), cells(map.valueType())));
        }
        if (type instanceof StringType || type instanceof BinaryType) {
            return 3;
        }
        return type instanceof BooleanType || width(type) > 0 ? 2 : IMPOSSIBLE;
    }

    /** Returns how many cells the columns of a schema have; -1 if one of them has none. */
    static int cellsOfFields(StructType schema) {
        int sum = schema.isEmpty() ? IMPOSSIBLE : 0;
        for (int i = 0; i < schema.length(); i++) {
            sum = sum(sum, cells(schema.apply(i).dataType()));
        }
        return sum;
    }

    private static int sum(int one, int other) {
        return one == IMPOSSIBLE || other == IMPOSSIBLE ? IMPOSSIBLE : one + other;
    }

    /** Returns the bytes of each value of a type, 0 if they differ. */
    private static int width(DataType type) {
        if (type instanceof ByteType) {
            return 1;
        }
        if (type instanceof ShortType) {
            return 2;
        }
        if (type instanceof IntegerType || type instanceof DateType || type instanceof FloatType) {
            return 4;
        }
        if (type instanceof LongType
                || type instanceof DoubleType
                || type instanceof TimestampType
                || type instanceof TimestampNTZType) {
            return 8;
        }
        return type instanceof DecimalType ? DECIMAL_BYTES : 0;
    }

    private long firstBit(PackedCells bits) {
        return (bits.begin() + BITS_FROM << 3) + Platform.getInt(this.memory, bits.begin() + 4);
    }

    private boolean bit(long position) {
        byte found = Platform.getByte(this.memory, position >> 3);
        return (found >> (int) (position & 7) & 1) != 0;
    }

    /** Sets where each value begins, from the first one on, but not where the last one ends. */
    private void setBegins(PackedCells offsets) {
        this.count = offsets.length() / 4;
        this.begins = new int[this.count + 1];
        Platform.copyMemory(
                this.memory,
                offsets.begin(),
                this.begins,
                Platform.INT_ARRAY_OFFSET,
                offsets.length());
        int first = this.begins[0];
        for (int i = 0; i < this.count; i++) {
            this.begins[i] -= first;
        }
    }

    public void close() {}

    public void closeIfFreeable() {}

    public boolean hasNull() {
        return this.hasNull;
    }

    /** Whoever asks only wants to know whether there are nulls; they are not counted. */
    public int numNulls() {
        return this.hasNull ? 1 : 0;
    }

    public boolean isNullAt(int row) {
        return this.hasNull && !this.bit(this.validity + row);
    }

    public boolean getBoolean(int row) {
        return this.bit(this.data + row);
    }

    public byte getByte(int row) {
        return Platform.getByte(this.memory, this.data + row);
    }

    public short getShort(int row) {
        return Platform.getShort(this.memory, this.data + 2L * row);
    }

    public int getInt(int row) {
        return Platform.getInt(this.memory, this.data + 4L * row);
    }

    public long getLong(int row) {
        return Platform.getLong(this.memory, this.data + 8L * row);
    }

    public float getFloat(int row) {
        return Platform.getFloat(this.memory, this.data + 4L * row);
    }

    public double getDouble(int row) {
        return Platform.getDouble(this.memory, this.data + 8L * row);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
        if (this.isNullAt(row)) {
            return null;
        }
        byte[] digits = new byte[DECIMAL_BYTES];
        for (int i = 0; i < DECIMAL_BYTES; i++) {
            long place = this.data + (long) DECIMAL_BYTES * row + i;
            digits[DECIMAL_BYTES - 1 - i] = Platform.getByte(this.memory, place);
        }
        return Decimal.apply(new BigDecimal(new BigInteger(digits), scale), precision, scale);
    }

    public UTF8String getUTF8String(int row) {
        if (this.isNullAt(row)) {
            return null;
        }
        int begin = this.begins[row];
        return UTF8String.fromAddress(this.memory, this.data + begin, this.begins[row + 1] - begin);
    }

    public byte[] getBinary(int row) {
        if (this.isNullAt(row)) {
            return null;
        }
        int begin = this.begins[row];
        byte[] value = new byte[this.begins[row + 1] - begin];
        Platform.copyMemory(
                this.memory, this.data + begin, value, Platform.BYTE_ARRAY_OFFSET, value.length);
        return value;
    }

    public ColumnarArray getArray(int row) {
        if (this.isNullAt(row)) {
            return null;
        }
        int begin = this.begins[row];
        return new ColumnarArray(this.children[0], begin, this.begins[row + 1] - begin);
    }

    public ColumnarMap getMap(int row) {
        if (this.isNullAt(row)) {
            return null;
        }
        int begin = this.begins[row];
        int length = this.begins[row + 1] - begin;
        return new ColumnarMap(this.children[0], this.children[1], begin, length);
    }

    public ColumnVector getChild(int ordinal) {
        return this.children[ordinal];
    }
}
