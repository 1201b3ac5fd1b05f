package bench;

import java.util.Collection;
import java.util.Map;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** The sum over the hashes of all values keeps the compiler from leaving the reads out. */
public class NullSinkTask extends SinkTask {
    private Progress progress;
    private volatile int touched;

    @Override
    public void start(Map<String, String> properties) {
        progress = new Progress(properties.get("progress"));
    }

    @Override
    public void put(Collection<SinkRecord> records) {
        int sum = touched;
        for (SinkRecord record : records) {
            if (record.value() instanceof Struct struct) {
                for (Field field : struct.schema().fields()) {
                    sum += hash(struct.get(field));
                }
            } else {
                for (Object value : ((Map<?, ?>) record.value()).values()) {
                    sum += hash(value);
                }
            }
        }
        touched = sum;
        progress.add(records.size());
    }

    private static int hash(Object value) {
        return value == null ? 0 : value.hashCode();
    }

    @Override
    public void stop() {
    }

    @Override
    public String version() {
        return "1";
    }
}
