// What the programs of kafkajs share: options, commands read from standard input, events printed by lines.
// tests/conformance/program.py says how the lines look.
'use strict';

const readline = require('node:readline');

const options = Object.fromEntries(process.argv.slice(2).map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]));

function emit(kind, ...words) {
  process.stdout.write(`${[Date.now(), kind, ...words].join(' ')}\n`);
}

const nameOf = (error) => `${error.name}:${error.message}`.replace(/\s/g, '_');

// Executes each command; prints `done` with what it gives, or `failed`; comes back at `leave`.
async function serve(execute) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line === 'leave') break;
    const command = line.split(' ');
    try {
      emit('done', command[0], ...(await execute(command)));
    } catch (error) {
      emit('failed', command[0], nameOf(error));
    }
  }
}

function run(main) {
  main().then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

module.exports = { options, emit, nameOf, serve, run };
