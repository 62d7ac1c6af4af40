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
    emit('told', each.name, step, error.cause ? `${error.name}:${error.cause.name}:${error.cause.type ?? ''}` : `${error.name}:${error.type ?? ''}`);
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

run(async () => {
  const running = [];
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [name, kind, ...pairs] = line.split(' ');
    const words = Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
    const each = { name, words: { ...words, kind } };
    running.push(kind === 'works' ? work(each) : beRefused(each));
  }
  await Promise.all(running);
});
