package bench;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/** A count of rows that another process reads: eight bytes of a file, big-endian. */
final class Progress {
    private final MappedByteBuffer count;

    Progress(String path) {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            count = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, Long.BYTES);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    void add(long rows) {
        count.putLong(0, count.getLong(0) + rows);
    }
}
