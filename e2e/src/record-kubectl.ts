// Writes into a file of commands what they print at the reference's API server:
// `node e2e/src/record-kubectl.ts FILE KUBECONFIG NODE`. KUBECTL is the program, if it is not the machine's.
import { writeFile } from 'node:fs/promises';
import { type Command, commandsIn, run } from './kubectl-transcript.ts';

const [file = '', kubeconfig = '', node = ''] = process.argv.slice(2);
const written: Command[] = [];
for (const command of await commandsIn(file)) {
  const printed = await run(command, { kubectl: process.env['KUBECTL'] ?? 'kubectl', kubeconfig, node });
  written.push({ ...command, printed });
}
await writeFile(file, written.map((command) => `${JSON.stringify(command)}\n`).join(''));
