package bench;

import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.data.Timestamp;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** The rows of rows.py as Structs, made once; each poll wraps them in new records. */
public class MemorySourceTask extends SourceTask {
    private static final long START_MS = 1_700_000_000_000L;
    private static final Map<String, Long> PARTITION = Map.of("memory", 0L);
    private static final Schema SCHEMA = SchemaBuilder.struct()
            .field("id", Schema.INT64_SCHEMA)
            .field("account", Schema.INT64_SCHEMA)
            .field("quantity", Schema.INT32_SCHEMA)
            .field("status", Schema.INT32_SCHEMA)
            .field("price", Schema.FLOAT64_SCHEMA)
            .field("discount", Schema.FLOAT64_SCHEMA)
            .field("sku", Schema.STRING_SCHEMA)
            .field("customer", Schema.STRING_SCHEMA)
            .field("note", Schema.OPTIONAL_STRING_SCHEMA)
            .field("paid", Schema.BOOLEAN_SCHEMA)
            .field("created", Timestamp.SCHEMA)
            .field("updated", Timestamp.SCHEMA)
            .build();

    private final List<Struct> rows = new ArrayList<>();
    private String topic;
    private long left;
    private long given;

    @Override
    public void start(Map<String, String> properties) {
        AbstractConfig config = new AbstractConfig(MemorySource.CONFIG, properties, false);
        topic = config.getString("topic");
        left = config.getLong("rows");
        for (int i = 0; i < config.getInt("batch.max.rows"); i++) {
            rows.add(row(i));
        }
    }

    private static Struct row(long i) {
        return new Struct(SCHEMA)
                .put("id", i)
                .put("account", i * 7 % 1_000_003)
                .put("quantity", (int) (i % 97))
                .put("status", (int) (i % 5))
                .put("price", i * 0.25)
                .put("discount", (i % 40) / 8.0)
                .put("sku", String.format("SKU-%05d", i % 5000))
                .put("customer", "customer " + i % 9973)
                .put("note", i % 3 != 0 ? null : "leave at door")
                .put("paid", i % 2 == 0)
                .put("created", new Date(START_MS + i))
                .put("updated", new Date(START_MS + 2 * i));
    }

    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        if (left <= 0) {
            Thread.sleep(20);
            return null;
        }
        List<SourceRecord> batch = new ArrayList<>(rows.size());
        Map<String, Long> offset = Map.of("given", given += rows.size());
        for (Struct row : rows) {
            batch.add(new SourceRecord(PARTITION, offset, topic, SCHEMA, row));
        }
        left -= rows.size();
        return batch;
    }

    @Override
    public void stop() {
    }

    @Override
    public String version() {
        return "1";
    }
}
