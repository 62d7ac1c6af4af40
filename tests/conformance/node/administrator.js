// Groups administered with kafkajs; tests/conformance/clients.py lists the commands.
'use strict';

const { Kafka, logLevel } = require('kafkajs');
const { options, serve, run } = require('./lines');

async function execute(admin, [command, groupId, topic, partition, offset]) {
  switch (command) {
    case 'list':
      return (await admin.listGroups()).groups.map((each) => each.groupId);
    case 'state': {
      const [{ state, members }] = (await admin.describeGroups([groupId])).groups;
      return [state.toLowerCase(), members.length];
    }
    case 'offsets': {
      const topics = await admin.fetchOffsets({ groupId });
      return topics.flatMap(({ partitions }) => partitions.map((each) => `${each.partition}:${each.offset}`));
    }
    case 'alter':
      await admin.setOffsets({ groupId, topic, partitions: [{ partition: Number(partition), offset }] });
      return [];
    case 'delete':
      await admin.deleteGroups([groupId]);
      return [];
    default:
      throw new Error(`no command ${command}`);
  }
}

run(async () => {
  const admin = new Kafka({ brokers: [options.bootstrap], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await serve((command) => execute(admin, command));
  await admin.disconnect();
});
