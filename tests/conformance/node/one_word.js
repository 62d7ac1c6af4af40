// Writes a value to a topic with kafkajs, and prints the first value of it: node one_word.js OPTIONS TOPIC VALUE
'use strict';

const { Kafka, logLevel } = require('kafkajs');

async function main([options, topic, value]) {
  const kafka = new Kafka({ ...JSON.parse(options), logLevel: logLevel.NOTHING });
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ value }] });
  await producer.disconnect();
  const consumer = kafka.consumer({ groupId: value });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const first = await new Promise((resolve, reject) => {
    consumer.run({ eachMessage: async ({ message }) => resolve(message.value.toString()) }).catch(reject);
  });
  await consumer.disconnect();
  console.log(first);
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
