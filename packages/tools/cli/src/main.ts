import { enterNodeNamespace } from './node/enter-namespace.ts';

// Commands that connect to a node run in its network namespace; the program itself is loaded only there.
enterNodeNamespace(process.argv.slice(2));
const { run } = await import('./program.ts');
await run(process.argv);
