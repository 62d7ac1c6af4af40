// A member of a group with kafkajs; tests/conformance/clients.py says what it does.
'use strict';

const { Kafka, logLevel } = require('kafkajs');
const { options, emit, nameOf, serve, run } = require('./lines');

run(async () => {
  const kafka = new Kafka({ brokers: options.bootstrap.split(','), logLevel: logLevel.NOTHING, retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 50 } });
  const consumer = kafka.consumer({
    groupId: options.group, sessionTimeout: Number(options.session_ms), heartbeatInterval: Number(options.heartbeat_ms), rebalanceTimeout: 10000,
    maxWaitTimeInMs: 100, readUncommitted: options.isolation !== 'read_committed',
  });
  const { topic } = options;
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => emit('assigned', (payload.memberAssignment[topic] ?? []).sort((a, b) => a - b).join(',')));
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async ({ batch, resolveOffset, heartbeat, isRunning, isStale }) => {
      for (const { offset, value } of batch.messages) {
        if (!isRunning() || isStale()) return;
        emit('read', batch.partition, offset, value);
        resolveOffset(offset);
        const end = String(Number(offset) + 1);
        try {
          await consumer.commitOffsets([{ topic, partition: batch.partition, offset: end }]);
          emit('committed', batch.partition, end);
        } catch (error) {
          emit('refused', nameOf(error));
          throw error;
        }
        await heartbeat();
      }
    },
  });
  await serve(async ([, partition, offset]) => {
    consumer.seek({ topic, partition: Number(partition), offset });
    return [partition, offset];
  });
  await consumer.disconnect();
});
