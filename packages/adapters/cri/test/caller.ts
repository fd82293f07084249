// A process that makes one call and prints its result, to be killed during the call:
//   node caller.ts '{"socket": ..., "relay"?: ..., "method": ..., "request": ...}'
import { type CriClientOptions, connectCri } from '../src/index.ts';
import type { UnaryCriMethod } from '@kubus/proto/cri';
import { ports } from './ports.ts';

const { method, request, ...where } = JSON.parse(process.argv[2] ?? '{}') as {
  method: UnaryCriMethod;
  request: object;
} & Pick<CriClientOptions, 'socket' | 'relay'>;

const alive = setInterval(() => undefined, 60_000);
const client = connectCri({ ...where, ...ports });
await new Promise<void>((resolve) => {
  client.watchConnection((connection) => {
    if (connection === 'connected') {
      resolve();
    }
  });
});
console.log(JSON.stringify(await client.call(method, request)));
client.close();
clearInterval(alive);
