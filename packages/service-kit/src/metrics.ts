import type { Bus } from '@kubus/bus';
import { Counter, Gauge, Registry } from 'prom-client';

/**
 * A registry with what every service shows. prom-client's own default metrics are left out: they measure the event loop
 * a hundred times a second, which is most of what an idle service would do.
 */
export function createMetrics(labels: { service: string; instance: string; node: string }, version: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  const registers = [registry];
  new Gauge({ name: 'kubus_build_info', help: 'Version of the service.', labelNames: ['version'], registers }).set(
    { version },
    1,
  );
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time of the process.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of the process since the Unix epoch.',
    registers,
  }).set(performance.timeOrigin / 1000);
  return registry;
}

/** Adds what the bus counts. */
export function addBusMetrics(registry: Registry, bus: Bus): void {
  const registers = [registry];
  new Gauge({
    name: 'kubus_bus_connected',
    help: '1 while the service has the bus.',
    registers,
    collect() {
      this.set(bus.transport.connected ? 1 : 0);
    },
  });
  new Counter({
    name: 'kubus_bus_published_total',
    help: 'Messages that the service has published.',
    registers,
    collect() {
      this.reset();
      this.inc(bus.published);
    },
  });
  new Counter({
    name: 'kubus_bus_refused_total',
    help: 'Messages that did not validate.',
    registers,
    collect() {
      this.reset();
      this.inc(bus.refused);
    },
  });
}
