import { describe } from "@effect/vitest"
import { onEveryStore } from "../harness/stores.ts"
import { queueContract } from "./queue.contract.ts"

describe("FifoQueue", () => onEveryStore(queueContract))
