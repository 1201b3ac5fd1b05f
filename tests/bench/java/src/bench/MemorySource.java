package bench;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.SourceConnector;

/** One task that gives rows it holds in memory: what is left is the framework's own cost. */
public class MemorySource extends SourceConnector {
    static final ConfigDef CONFIG = new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "Topic to write to.")
            .define("rows", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "Rows to give.")
            .define("batch.max.rows", ConfigDef.Type.INT, 10_000, ConfigDef.Importance.LOW, "Rows per poll.");

    private Map<String, String> properties;

    @Override
    public void start(Map<String, String> given) {
        properties = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return MemorySourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(properties);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return CONFIG;
    }

    @Override
    public String version() {
        return "1";
    }
}
