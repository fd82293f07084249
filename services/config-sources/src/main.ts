import { runServices } from '@kubus/service-kit';
import { configSources } from './index.ts';

await runServices([configSources]);
