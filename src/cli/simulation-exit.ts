/** Which exit code a failed simulation ends with: what was wrong, in three kinds. */
import type { FailureCode } from '../sim/index.ts';
import { ExitCode } from './exit-codes.ts';

export function simulationExit(code: FailureCode): ExitCode {
  switch (code) {
    case 'engine-crash':
    case 'engine-halt':
    case 'disk-misuse':
    case 'message-misuse':
    case 'message-leak':
      return ExitCode.simulationCrashed;
    case 'liveness':
    case 'convergence':
      return ExitCode.simulationStuck;
    case 'coverage':
      return ExitCode.simulationFailed;
    case 'reply-invalid':
    case 'reply-changed':
    case 'lost-operation':
    case 'double-apply':
    case 'order':
    case 'divergence':
    case 'linearizability':
    case 'eviction':
    case 'fork':
    case 'view':
    case 'not-durable':
      return ExitCode.simulationWrong;
  }
}

/** The one that says most, of several runs: wrong results before crashes before no results. */
export function worstExit(codes: readonly FailureCode[]): ExitCode {
  const exits = codes.map(simulationExit);
  const { simulationWrong, simulationCrashed, simulationStuck, simulationFailed } = ExitCode;
  const order = [simulationWrong, simulationCrashed, simulationStuck];
  return order.find((exit) => exits.includes(exit)) ?? simulationFailed;
}
