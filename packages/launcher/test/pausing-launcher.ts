// Pauses the process of the pid that it is given, says so, and waits to be killed.
import { pauseProcess } from '../src/pause.ts';

await pauseProcess(Number(process.argv[2]));
console.log('paused');
setInterval(() => undefined, 1000);
