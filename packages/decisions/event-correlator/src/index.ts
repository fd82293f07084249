export { EventCorrelator, type CorrelatedEvent, type Occurrence } from './event-correlator.ts';
