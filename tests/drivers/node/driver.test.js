'use strict';
// Every topic in every configuration: one server and one client each, in one process.

const { after, before, describe } = require('node:test');
const { Server, configurations } = require('./server.js');

const TOPICS = ['./describing.js', './typing.js', './statements.js', './altering.js', './failing.js'];

for (const configuration of configurations()) {
  describe(configuration.name, () => {
    // Filled before the first test: what a topic's tests need.
    const subject = { protocol: configuration.protocol };

    before(async () => {
      subject.server = await Server.start(configuration);
      subject.client = await subject.server.connect();
      await subject.client.execute('DROP KEYSPACE IF EXISTS tested');
      await subject.client.execute("CREATE KEYSPACE tested WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
      await subject.client.execute('USE tested');
    });
    after(async () => {
      await subject.client?.shutdown();
      await subject.server.stop();
    });

    for (const topic of TOPICS) {
      require(topic)(subject);
    }
  });
}
