import { enterNodeNamespace } from './enter-namespace.ts';

// Whatever talks to a node has to be in its network namespace; the program itself is loaded only there.
enterNodeNamespace(process.argv.slice(2));
const { run } = await import('./program.ts');
await run(process.argv);
