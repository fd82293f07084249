import { testShard } from './shard.ts';

testShard(2);
