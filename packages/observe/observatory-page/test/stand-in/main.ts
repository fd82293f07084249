// node test/stand-in/main.ts [PORT] [FOLDER OF THE BUILT PAGE]: an observatory with generated recordings, for `vite dev`.
import { StandIn } from './server.ts';
import { standInContract } from './contract.ts';

const [port = '8471', page] = process.argv.slice(2);
const standIn = new StandIn({ millionPods: 10_000, contract: standInContract, ...(page !== undefined && { page }) });
console.log(await standIn.listen(Number(port)));
