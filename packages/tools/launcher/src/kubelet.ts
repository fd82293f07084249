import { runKubelet } from './kubelet/run-kubelet.ts';

/** The agent instead of the kubelet, as a process: `kubelet.mjs CHECKOUT [flags]`. */
const [programs = '', ...args] = process.argv.slice(2);
await runKubelet(programs, args);
