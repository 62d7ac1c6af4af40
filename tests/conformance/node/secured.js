// Clients of kafkajs at secured listeners; tests/conformance/python/cases.py says what they do and print.
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const { Kafka, logLevel } = require('kafkajs');
const { emit, run } = require('./lines');

const TIMEOUT_MS = 20000;
const PAUSE_MS = 200;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function clientOf({ words }) {
  const { bootstrap, ca, certificate, mechanism, user, password, token } = words;
  const settings = { brokers: [bootstrap], logLevel: logLevel.NOTHING, reauthenticationThreshold: 500, retry: { retries: words.kind === 'fails' ? 0 : 5, initialRetryTime: 100 } };
  if (ca) {
    settings.ssl = { ca: [fs.readFileSync(ca)], servername: 'localhost' };
    if (certificate) settings.ssl.key = settings.ssl.cert = fs.readFileSync(certificate);
  }
  if (mechanism === 'OAUTHBEARER') {
    settings.sasl = { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: token }) };
  } else if (mechanism) {
    settings.sasl = { mechanism: mechanism.toLowerCase(), username: user, password };
  }
  return new Kafka(settings);
}

async function attempt(each, step, action) {
  try {
    await action();
    emit('told', each.name, step, 'ok');
    return true;
  } catch (error) {
    if (each.words.kind === 'works') console.error(each.name, step, error);
    const inner = error.cause ?? error.errors?.[0];
    emit('told', each.name, step, inner ? `${error.name}:${inner.name}:${inner.type ?? ''}` : `${error.name}:${error.type ?? ''}`);
    return false;
  }
}

// What a consumer has read, in order.
class Values {
  constructor() {
    this.found = [];
  }

  async read(value) {
    const end = Date.now() + TIMEOUT_MS;
    while (!this.found.length && Date.now() < end) await pause(10);
    const first = this.found.shift();
    if (first !== value) throw new Error(`${first} is not ${value}`);
  }
}

async function work(each) {
  const { topic } = each.words;
  const kafka = clientOf(each);
  const producer = kafka.producer();
  const transactional = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
  const consumer = kafka.consumer({ groupId: topic, maxWaitTimeInMs: 100, readUncommitted: false });
  const values = new Values();
  const send = (by, value) => by.send({ topic, messages: [{ value }] });
  const steps = {
    async produce() {
      await producer.connect();
      await send(producer, 'one');
    },
    async group() {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({ eachMessage: async ({ message }) => values.found.push(message.value.toString()) });
      await values.read('one');
    },
    async transaction() {
      await transactional.connect();
      const transaction = await transactional.transaction();
      await send(transaction, 'two');
      await transaction.sendOffsets({ consumerGroupId: topic, topics: [{ topic, partitions: [{ partition: 0, offset: '1' }] }] });
      await transaction.commit();
      await values.read('two');
    },
    async renewal() {
      for (const end = Date.now() + Number(each.words.renewal_ms); Date.now() < end; await pause(PAUSE_MS)) {
        await send(producer, 'more');
        await values.read('more');
      }
    },
  };
  for (const [name, step] of Object.entries(steps)) {
    if (!(await attempt(each, name, step))) break;
  }
  await Promise.all([producer.disconnect(), transactional.disconnect(), consumer.disconnect()]);
}

async function beRefused(each) {
  const admin = clientOf(each).admin();
  await attempt(each, 'error', async () => {
    await admin.connect();
    await admin.describeCluster();
  });
  await admin.disconnect();
}

async function administer(kafka, action) {
  const admin = kafka.admin();
  try {
    await admin.connect();
    await action(admin);
  } finally {
    await admin.disconnect();
  }
}

// What a client does whose user lacks a right.
const actions = {
  async produce(kafka, topic, settings = {}) {
    const producer = kafka.producer(settings);
    try {
      await producer.connect();
      await producer.send({ topic, messages: [{ value: 'one' }] });
    } finally {
      await producer.disconnect();
    }
  },
  idempotent: (kafka, topic) => actions.produce(kafka, topic, { idempotent: true }),
  async read(kafka, topic) {
    const consumer = kafka.consumer({ groupId: topic });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic] });
      await new Promise((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
        setTimeout(() => reject(new Error('no record')), TIMEOUT_MS).unref();
        consumer.run({ eachMessage: async () => resolve() }).catch(reject);
      });
    } finally {
      await consumer.disconnect();
    }
  },
  join: (kafka, topic) => actions.read(kafka, topic),
  async transact(kafka, topic, proceed = (transaction) => transaction.send({ topic, messages: [{ value: 'one' }] })) {
    const producer = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 });
    try {
      await producer.connect();
      const transaction = await producer.transaction();
      await proceed(transaction);
      await transaction.commit();
    } finally {
      await producer.disconnect();
    }
  },
  offsets: (kafka, topic) =>
    actions.transact(kafka, topic, (transaction) =>
      transaction.sendOffsets({ consumerGroupId: topic, topics: [{ topic, partitions: [{ partition: 0, offset: '0' }] }] }),
    ),
  describe: (kafka, topic) => administer(kafka, (admin) => admin.fetchTopicMetadata({ topics: [topic] })),
  create: (kafka, topic) => administer(kafka, (admin) => admin.createTopics({ topics: [{ topic }] })),
};

const executions = {
  works: work,
  fails: beRefused,
  denied: (each) => attempt(each, 'error', () => actions[each.words.action](clientOf(each), each.words.topic)),
};

run(async () => {
  const running = [];
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, kind, ...pairs] = line.split(' ');
    const words = Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
    const each = { name, words: { ...words, kind } };
    running.push(executions[kind](each));
  }
  await Promise.all(running);
});
