import { runServices } from '@kubus/service-kit';
import { kubeApi } from './index.ts';

await runServices([kubeApi]);
