package helenus.drivers;

import com.datastax.oss.driver.api.core.CqlSession;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

/** Every topic in every configuration: one server and one session each, in one JVM. */
@ParameterizedClass(name = "{0}")
@MethodSource("configurations")
class DriverTest implements Connecting, Describing, Typing, Statements, Paging, Batching, Altering, Failing {
  private static Node node;
  private static CqlSession session;

  @Parameter Configuration configuration;

  static List<Configuration> configurations() throws IOException {
    return Configuration.chosen();
  }

  @BeforeParameterizedClassInvocation
  static void start(Configuration configuration) throws IOException {
    System.out.println(configuration);
    node = Node.start(configuration);
    session = node.connect(configuration);
    session.execute("DROP KEYSPACE IF EXISTS tested");
    session.execute(
        "CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session.execute("USE tested");
  }

  @AfterParameterizedClassInvocation
  static void stop() throws IOException, InterruptedException {
    if (session != null) {
      session.close();
    }
    node.stop();
  }

  @Override
  public Configuration configuration() {
    return configuration;
  }

  @Override
  public Node node() {
    return node;
  }

  @Override
  public CqlSession session() {
    return session;
  }
}
