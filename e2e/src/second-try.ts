// Whole nodes share the machine with whatever else it does: a test that fails is tried once more. Why it failed stands in
// the log, and the summary of all tests names it.
import { jest } from '@jest/globals';

jest.retryTimes(1, { logErrorsBeforeRetry: true });
