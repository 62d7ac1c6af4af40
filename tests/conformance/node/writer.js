// A producer with kafkajs; tests/conformance/clients.py lists its commands.
'use strict';

const { Kafka, Partitioners, logLevel } = require('kafkajs');
const { options, emit, nameOf, serve, run } = require('./lines');

const PAUSE_MS = 10;

// kafkajs keeps the order of a partition only if each send waits for the one before.
async function write(producer, acks, partitions, isStopping) {
  const { topic } = options;
  for (let number = 0; !isStopping(); number++) {
    const value = String(number);
    const messages = Array.from({ length: partitions }, (_, partition) => ({ partition, value }));
    try {
      for (const { partition, baseOffset } of await producer.send({ topic, acks, messages, timeout: Number(options.request_ms) })) {
        emit('acked', partition, baseOffset, value);
      }
    } catch (error) {
      emit('lost', '?', value, nameOf(error));
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

run(async () => {
  const retries = Math.ceil(Number(options.delivery_ms) / 300);
  const kafka = new Kafka({
    brokers: options.bootstrap.split(','), logLevel: logLevel.NOTHING, requestTimeout: Number(options.request_ms) + 500, enforceRequestTimeout: true,
    connectionTimeout: Number(options.request_ms), retry: { initialRetryTime: 100, maxRetryTime: 300, retries },
  });
  const idempotent = options.idempotent === 'true';
  const producer = kafka.producer({ idempotent, maxInFlightRequests: 1, metadataMaxAge: 2000, createPartitioner: Partitioners.DefaultPartitioner });
  const admin = kafka.admin();
  await producer.connect();
  await admin.connect();
  const { topic } = options;
  const acks = options.acks === 'all' ? -1 : Number(options.acks);
  let isStopping = false;
  let load = null;
  await serve(async ([command, partition, value]) => {
    switch (command) {
      case 'send': {
        const messages = [{ partition: Number(partition), value }];
        const [sent] = await producer.send({ topic, acks, messages, timeout: Number(options.request_ms) });
        return [sent.partition, sent.baseOffset];
      }
      case 'load':
        load = write(producer, acks, Number(partition), () => isStopping);
        return [];
      case 'stop':
        isStopping = true;
        await load;
        return [];
      case 'leaders': {
        const [{ partitions }] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics;
        return partitions.map((each) => `${each.partitionId}:${each.leader}`);
      }
      default:
        throw new Error(`no command ${command}`);
    }
  });
  await admin.disconnect();
  await producer.disconnect();
});
