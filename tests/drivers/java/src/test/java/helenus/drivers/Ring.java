package helenus.drivers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.metadata.Node;
import com.datastax.oss.driver.api.core.metadata.NodeState;
import com.datastax.oss.driver.api.core.metadata.NodeStateListener;
import com.datastax.oss.driver.api.core.metadata.NodeStateListenerBase;
import com.datastax.oss.driver.api.core.metadata.TokenMap;
import com.datastax.oss.driver.api.core.metadata.token.Token;
import com.datastax.oss.driver.internal.core.connection.ConstantReconnectionPolicy;
import com.datastax.oss.driver.internal.core.context.InternalDriverContext;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The ring of three nodes that `python/ring.py` runs, as the environment names it, and sessions on it. */
final class Ring {
  final List<InetSocketAddress> addresses;

  private Ring(List<InetSocketAddress> addresses) {
    this.addresses = addresses;
  }

  static Ring ofTheEnvironment() {
    String named = System.getenv().getOrDefault("HELENUS_RING", "");
    List<InetSocketAddress> addresses = Stream.of(named.split(",")).filter(name -> !name.isEmpty()).map(Ring::address).toList();
    assertEquals(3, addresses.size(), "HELENUS_RING names no three nodes: `cargo xtask drivers` starts them");
    return new Ring(addresses);
  }

  private static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    return new InetSocketAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  /** Has the ring carry out a command. */
  static void command(String... words) throws IOException, InterruptedException {
    String program = Configuration.SUITES.resolve("python/ring.py").toString();
    List<String> command = Stream.concat(Stream.of("python3", program), Stream.of(words)).toList();
    int code = new ProcessBuilder(command).inheritIO().start().waitFor();
    assertEquals(0, code, String.join(" ", words));
  }

  /** A session that knows one node. What the driver would wait for by default is no part of the tests. */
  static CqlSession through(InetSocketAddress address, NodeStateListener listener) {
    DriverConfigLoader options =
        DriverConfigLoader.programmaticBuilder()
            .withString(DefaultDriverOption.PROTOCOL_VERSION, "V4")
            .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(30))
            .withBoolean(DefaultDriverOption.REQUEST_DEFAULT_IDEMPOTENCE, true)
            .withClass(DefaultDriverOption.RECONNECTION_POLICY_CLASS, ConstantReconnectionPolicy.class)
            .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofMillis(50))
            .withDuration(DefaultDriverOption.METADATA_TOPOLOGY_WINDOW, Duration.ofMillis(1))
            .withDuration(DefaultDriverOption.METADATA_SCHEMA_WINDOW, Duration.ofMillis(1))
            .withInt(DefaultDriverOption.NETTY_IO_SIZE, 2)
            .withInt(DefaultDriverOption.NETTY_IO_SHUTDOWN_QUIET_PERIOD, 0)
            .withInt(DefaultDriverOption.NETTY_ADMIN_SHUTDOWN_QUIET_PERIOD, 0)
            .build();
    return CqlSession.builder()
        .addContactPoint(address)
        .withLocalDatacenter("datacenter1")
        .withConfigLoader(options)
        .withNodeStateListener(listener)
        .build();
  }

  /** The driver's knowledge of a node. */
  record Known(UUID id, String datacenter, String rack, Set<Token> tokens) {}

  /** The driver's knowledge of each node, by address. */
  static Map<String, Known> described(CqlSession session) {
    TokenMap tokens = session.getMetadata().getTokenMap().orElseThrow();
    Map<String, Known> known = new TreeMap<>();
    for (Node node : session.getMetadata().getNodes().values()) {
      known.put(name(node), new Known(node.getHostId(), node.getDatacenter(), node.getRack(), tokens.getTokens(node)));
    }
    return known;
  }

  static Node node(CqlSession session, InetSocketAddress address) {
    return session.getMetadata().getNodes().values().stream()
        .filter(node -> node.getEndPoint().resolve().equals(address))
        .findFirst()
        .orElseThrow();
  }

  static boolean areAllUp(CqlSession session) {
    return session.getMetadata().getNodes().values().stream().allMatch(node -> node.getState() == NodeState.UP);
  }

  /** The node that has the control connection. */
  static String control(CqlSession session) {
    InternalDriverContext context = (InternalDriverContext) session.getContext();
    return context.getControlConnection().channel().getEndPoint().resolve().toString();
  }

  static String name(Node node) {
    return node.getEndPoint().resolve().toString();
  }

  /** Changes of nodes in the driver's words, in order. */
  static final class Heard extends NodeStateListenerBase {
    private final List<String> all = new CopyOnWriteArrayList<>();

    List<String> from(int index) {
      return all.stream().skip(index).collect(Collectors.toList());
    }

    int count() {
      return all.size();
    }

    @Override
    public void onAdd(Node node) {
      all.add("add " + name(node));
    }

    @Override
    public void onUp(Node node) {
      all.add("up " + name(node));
    }

    @Override
    public void onDown(Node node) {
      all.add("down " + name(node));
    }

    @Override
    public void onRemove(Node node) {
      all.add("remove " + name(node));
    }
  }
}
