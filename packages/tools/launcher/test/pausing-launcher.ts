// Pauses the process with the given PID, reports it, and waits to be killed.
import { pauseProcess } from '../src/processes/pause.ts';

await pauseProcess(Number(process.argv[2]));
console.log('paused');
setInterval(() => undefined, 1000);
