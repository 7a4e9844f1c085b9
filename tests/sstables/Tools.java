// Runs Cassandra's own command-line tools one after the other in one JVM, which would otherwise start for each file.
//
// Arguments: a file of jobs, a line each: the file that takes standard output, the class, its arguments; tabs between. For each job a line is
// printed: the code that the tool ended with, a tab, and what it said on standard error, with line ends as "\n".

import java.io.ByteArrayOutputStream;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Permission;
import java.util.Arrays;

@SuppressWarnings("removal")
public final class Tools {
    static final class Exit extends SecurityException {
        final int code;

        Exit(int code) {
            this.code = code;
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.setSecurityManager(new SecurityManager() {
            @Override
            public void checkExit(int code) {
                throw new Exit(code);
            }

            @Override
            public void checkPermission(Permission permission) {
            }

            @Override
            public void checkPermission(Permission permission, Object context) {
            }
        });
        PrintStream out = System.out;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] words = line.split("\t");
            ByteArrayOutputStream errors = new ByteArrayOutputStream();
            int code = 0;
            try (PrintStream file = new PrintStream(new FileOutputStream(words[0]), false)) {
                System.setOut(file);
                System.setErr(new PrintStream(errors, true));
                String[] rest = Arrays.copyOfRange(words, 2, words.length);
                Class.forName(words[1]).getMethod("main", String[].class).invoke(null, (Object) rest);
            } catch (java.lang.reflect.InvocationTargetException thrown) {
                Throwable cause = thrown.getCause();
                while (cause != null && !(cause instanceof Exit) && cause.getCause() != null) {
                    cause = cause.getCause();
                }
                if (cause instanceof Exit exit) {
                    code = exit.code;
                } else {
                    code = 99;
                    cause.printStackTrace(new PrintStream(errors, true));
                }
            }
            out.println(code + "\t" + errors.toString().replace("\\", "\\\\").replace("\n", "\\n"));
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
