// Writes the tables of docs/kubelet.md: pnpm --filter @kubus/kubelet-config write-docs
import { writeFileSync } from 'node:fs';
import { readPage } from './docs.ts';

const { path, wanted } = readPage();
writeFileSync(path, wanted);
