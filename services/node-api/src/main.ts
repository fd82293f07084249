import { runServices } from '@kubus/service-kit';
import { nodeApi } from './index.ts';

await runServices([nodeApi]);
