// Everything that an application does with kafkajs without a group: run as `node main.js BOOTSTRAP PREFIX`.
// Prints one line a step; the first difference ends it with exit code 1.
//
// kafkajs consumes in groups only, so what was produced is read back by its own low-level Broker (Metadata, ListOffsets, Fetch).
'use strict';

const assert = require('node:assert');
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs');
const snappy = require('snappyjs');
const lz4 = require('lz4-napi');
const zstd = require('@bokuweb/zstd-wasm');

const START = 1700000000000;
const PARTITIONS = 3;
const XERIAL_HEADER = Buffer.from('82534e41505059000000000100000001', 'hex');

CompressionCodecs[CompressionTypes.Snappy] = () => ({
  async compress(encoder) {
    const block = snappy.compress(encoder.buffer);
    const size = Buffer.alloc(4);
    size.writeInt32BE(block.length);
    return Buffer.concat([XERIAL_HEADER, size, block]);
  },
  async decompress(buffer) {
    if (!buffer.subarray(0, 8).equals(XERIAL_HEADER.subarray(0, 8))) return snappy.uncompress(buffer);
    const blocks = [];
    for (let at = 16; at < buffer.length; ) {
      const size = buffer.readInt32BE(at);
      blocks.push(snappy.uncompress(buffer.subarray(at + 4, at + 4 + size)));
      at += 4 + size;
    }
    return Buffer.concat(blocks);
  },
});
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
});

function records() {
  const sizes = [1, 0, 100, 1000, 16384, 100000, 1000000, 5000000];
  return Array.from({ length: 200 }, (_, i) => {
    const size = i < sizes.length ? sizes[i] : (i * 37) % 300;
    const value = Buffer.from(Array.from({ length: Math.min(size, 997) }, (_, j) => (i * 31 + j * 7) % 256));
    return {
      partition: i % PARTITIONS,
      timestamp: String(START + i * 1000),
      key: i % 3 === 0 ? null : Buffer.from(`key-${i}`),
      value: i % 17 === 16 ? null : Buffer.concat(Array(Math.ceil(size / 997)).fill(value)).subarray(0, size),
      headers: i % 4 === 1 ? { a: Buffer.from(''), schlüssel: Buffer.from('wert'), b: [Buffer.from('1'), Buffer.from([0, 255])] } : {},
    };
  });
}

async function readPartition(cluster, topic, partition, expected) {
  await cluster.addTargetTopic(topic);
  await cluster.refreshMetadata();
  const leader = cluster.findLeaderForPartitions(topic, [partition]);
  const broker = await cluster.findBroker({ nodeId: Number(Object.keys(leader)[0]) });
  const read = [];
  while (read.length < expected.length) {
    const { responses } = await broker.fetch({
      maxWaitTime: 500, minBytes: 1, maxBytes: 20000000, isolationLevel: 1,
      topics: [{ topic, partitions: [{ partition, fetchOffset: String(read.length), maxBytes: 10000000, currentLeaderEpoch: -1 }] }],
    });
    const messages = responses[0].partitions[0].messages;
    assert(messages.length > 0, `${topic}-${partition}: nothing at ${read.length}`);
    for (const message of messages) {
      if (Number(message.offset) < read.length) continue;
      assert.strictEqual(Number(message.offset), read.length);
      read.push(message);
    }
  }
  read.forEach((message, i) => {
    const want = expected[i];
    assert.deepStrictEqual(message.key, want.key, `key of ${topic}-${partition}:${i}`);
    assert(want.value === null ? message.value === null : want.value.equals(message.value), `value of ${topic}-${partition}:${i}`);
    assert.strictEqual(message.timestamp, want.timestamp);
    assert.deepStrictEqual(Object.keys(message.headers), Object.keys(want.headers));
  });
}

async function codec(kafka, cluster, admin, name, type, prefix, idempotent) {
  const topic = `${prefix}-${name}-${idempotent}`;
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, configEntries: [{ name: 'max.message.bytes', value: '6000000' }] }] });
  const sent = records();
  const producer = kafka.producer({ idempotent, allowAutoTopicCreation: false });
  await producer.connect();
  for (let at = 0; at < sent.length; at += 50) {
    await producer.send({ topic, messages: sent.slice(at, at + 50), acks: -1, compression: type });
  }
  await producer.disconnect();
  for (let partition = 0; partition < PARTITIONS; partition++) {
    await readPartition(cluster, topic, partition, sent.filter((record) => record.partition === partition));
  }
  for (const i of [0, 1, 50, 100, 197]) {
    const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, START + i * 1000);
    assert.strictEqual(Number(offsets.find((o) => o.partition === i % PARTITIONS).offset), Math.floor(i / PARTITIONS));
  }
  const ends = await admin.fetchTopicOffsets(topic);
  assert.deepStrictEqual(ends.map((o) => [o.low, o.high]).sort(), [['0', '66'], ['0', '67'], ['0', '67']]);
  console.log(`${topic}: ${sent.length} records`);
}

async function administer(kafka, admin, topic) {
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] }] });
  assert((await admin.listTopics()).includes(topic));
  await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
  assert.strictEqual((await admin.fetchTopicMetadata({ topics: [topic] })).topics[0].partitions.length, 5);
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  await admin.alterConfigs({ resources: [{ ...resource, configEntries: [{ name: 'cleanup.policy', value: 'delete' }, { name: 'retention.ms', value: '123456' }] }] });
  const described = await admin.describeConfigs({ resources: [{ ...resource, configNames: ['retention.ms'] }] });
  assert.strictEqual(described.resources[0].configEntries[0].configValue, '123456');
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: Array.from({ length: 10 }, (_, i) => ({ partition: 1, value: `v${i}` })) });
  await producer.disconnect();
  await admin.fetchTopicOffsets(topic); // it looks the leader up in what is cached
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '4' }] });
  const offsets = await admin.fetchTopicOffsets(topic);
  assert.strictEqual(offsets.find((o) => o.partition === 1).low, '4');
  assert.strictEqual((await admin.describeCluster()).brokers.length, 1);
  await admin.deleteTopics({ topics: [topic] });
  assert(!(await admin.listTopics()).includes(topic));
  console.log('admin: create, describe, alter, grow, delete records, delete');
}

async function main([bootstrap, prefix]) {
  await zstd.init();
  const kafka = new Kafka({ brokers: [bootstrap], clientId: 'conformance', logLevel: logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  const cluster = lowLevelCluster(bootstrap);
  await cluster.connect();
  for (const [name, type] of Object.entries({ none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 })) {
    for (const idempotent of [true, false]) await codec(kafka, cluster, admin, name, type, prefix, idempotent);
  }
  await administer(kafka, admin, `${prefix}-admin`);
  await cluster.disconnect();
  await admin.disconnect();
  console.log('all steps passed');
}

function lowLevelCluster(bootstrap) {
  const Cluster = require('kafkajs/src/cluster');
  const { createLogger } = require('kafkajs/src/loggers');
  const LoggerConsole = require('kafkajs/src/loggers/console');
  const socketFactory = require('kafkajs/src/network/socketFactory')();
  const logger = createLogger({ level: logLevel.ERROR, logCreator: LoggerConsole });
  return new Cluster({
    logger, socketFactory, brokers: [bootstrap], clientId: 'conformance', connectionTimeout: 5000, authenticationTimeout: 5000,
    requestTimeout: 30000, metadataMaxAge: 300000, allowAutoTopicCreation: false, maxInFlightRequests: 1, isolationLevel: 1,
    retry: { retries: 5 }, offsets: new Map(),
  });
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
