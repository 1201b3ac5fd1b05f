import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.transforms.Transformation;

/**
 * Applies transforms to records. Each line of the input is JSON: {"class", "config", "records": [{"topic", "value",
 * "headers": [[name, value]]}]}, values as JsonConverter reads them with their schemas.
 */
public class TransformRun {
    static final ObjectMapper JSON = new ObjectMapper();
    public static void main(String[] args) throws Exception {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "true", "converter.type", "value"));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) out.println(ran(JSON.readTree(line), converter));
    }
    @SuppressWarnings("unchecked")
    static JsonNode ran(JsonNode task, JsonConverter converter) throws Exception {
        ArrayNode found = JSON.createArrayNode();
        try {
            for (JsonNode record : task.get("records")) {
                // A new one for each record: HeaderToValue keeps the schema that it made of the first one's headers.
                Transformation<SourceRecord> transform = (Transformation<SourceRecord>)
                    Class.forName(task.get("class").asText()).getDeclaredConstructor().newInstance();
                transform.configure(JSON.convertValue(task.get("config"), Map.class));
                found.add(one(record, transform, converter));
            }
        } catch (Exception error) {
            return JSON.createObjectNode().put("refused", String.valueOf(error.getMessage()));
        }
        return found;
    }
    static ObjectNode one(JsonNode given, Transformation<SourceRecord> transform, JsonConverter converter) throws Exception {
        SchemaAndValue value = given.get("value").isNull() ? SchemaAndValue.NULL
            : converter.toConnectData("t", JSON.writeValueAsBytes(given.get("value")));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : given.path("headers")) {
            // A null comes without its schema.
            SchemaAndValue held = header.get(1).isNull() ? new SchemaAndValue(Schema.OPTIONAL_STRING_SCHEMA, null)
                : converter.toConnectData("t", JSON.writeValueAsBytes(header.get(1)));
            headers.add(header.get(0).asText(), held);
        }
        ObjectNode made = JSON.createObjectNode();
        try {
            SourceRecord record = transform.apply(new SourceRecord(Map.of(), Map.of(), given.get("topic").asText(), null,
                null, null, value.schema(), value.value(), null, headers));
            if (record == null) return made.put("dropped", true);
            made.put("topic", record.topic()).put("partition", record.kafkaPartition());
            byte[] text = record.value() == null ? null : converter.fromConnectData("t", record.valueSchema(), record.value());
            made.set("value", text == null ? NullNode.instance : JSON.readTree(text));
            ArrayNode names = made.putArray("headers");
            for (Header header : record.headers()) names.add(header.key());
        } catch (Exception error) {
            made.removeAll();
            made.put("error", error.getClass().getSimpleName());
        }
        return made;
    }
}
