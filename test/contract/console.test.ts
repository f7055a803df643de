import { describe } from "@effect/vitest"
import { onEveryStore } from "../harness/stores.ts"
import { consoleContract } from "./console.contract.ts"

describe("what the console keeps in the store", () => onEveryStore(consoleContract))
