/*
 * adjoin_fmi3.c: FMI 3.0 for co-simulation around a model, the same for every model.
 *
 * The standard's headers come with the tool that compiles; ADJOIN_OWN_FMI does without them.
 */
#ifdef ADJOIN_OWN_FMI
#include "adjoin_fmi3_types.h"
#else
#include "fmi3Functions.h"
#endif

#include "adjoin_instance.h"

typedef struct {
    instance_data data;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log_message;
} instance;

static fmi3Status refuse(const instance *self, const char *message)
{
    if (self->log_message != NULL)
        self->log_message(self->environment, fmi3Error, "logStatusError", message);
    return fmi3Error;
}

const char *fmi3GetVersion(void)
{
    return "3.0";
}

fmi3Status fmi3SetDebugLogging(fmi3Instance c, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[])
{
    (void)c;
    (void)loggingOn;
    (void)nCategories;
    (void)categories;
    return fmi3OK;
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3Boolean eventModeUsed,
    fmi3Boolean earlyReturnAllowed, const fmi3ValueReference requiredIntermediateVariables[],
    size_t nRequiredIntermediateVariables, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3IntermediateUpdateCallback intermediateUpdate)
{
    instance *self;
    (void)instanceName;
    (void)resourcePath;
    (void)visible;
    (void)loggingOn;
    (void)eventModeUsed;
    (void)earlyReturnAllowed;
    (void)requiredIntermediateVariables;
    (void)intermediateUpdate;
    if (instantiationToken == NULL || strcmp(instantiationToken, TOKEN) != 0)
        return NULL;
    if (nRequiredIntermediateVariables > 0u)
        return NULL;
    self = (instance *)calloc(1u, sizeof *self);
    if (self == NULL)
        return NULL;
    self->environment = instanceEnvironment;
    self->log_message = logMessage;
    reset(&self->data);
    return self;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible,
                                          fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage)
{
    (void)instanceName;
    (void)instantiationToken;
    (void)resourcePath;
    (void)visible;
    (void)loggingOn;
    (void)instanceEnvironment;
    (void)logMessage;
    return NULL;
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String instanceName, fmi3String instantiationToken, fmi3String resourcePath,
    fmi3Boolean visible, fmi3Boolean loggingOn, fmi3InstanceEnvironment instanceEnvironment,
    fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
    fmi3LockPreemptionCallback lockPreemption, fmi3UnlockPreemptionCallback unlockPreemption)
{
    (void)instanceName;
    (void)instantiationToken;
    (void)resourcePath;
    (void)visible;
    (void)loggingOn;
    (void)instanceEnvironment;
    (void)logMessage;
    (void)clockUpdate;
    (void)lockPreemption;
    (void)unlockPreemption;
    return NULL;
}

void fmi3FreeInstance(fmi3Instance c)
{
    free(c);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean toleranceDefined,
                                       fmi3Float64 tolerance, fmi3Float64 startTime,
                                       fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    instance *self = (instance *)c;
    (void)toleranceDefined;
    (void)tolerance;
    (void)stopTimeDefined;
    (void)stopTime;
    self->data.start_time = startTime;
    begin(&self->data);
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance c)
{
    ((instance *)c)->data.is_started = 1;
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance c)
{
    (void)c;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance c)
{
    reset(&((instance *)c)->data);
    return fmi3OK;
}

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, fmi3Float64 values[], size_t nValues)
{
    instance *self = (instance *)c;
    size_t i;
    if (nValues != nValueReferences)
        return refuse(self, "There are no arrays: one value for each reference.");
    for (i = 0u; i < nValueReferences; i++)
        if (!get_value(&self->data, valueReferences[i], &values[i]))
            return refuse(self, "There is no variable of that value reference.");
    return fmi3OK;
}

fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference valueReferences[],
                          size_t nValueReferences, const fmi3Float64 values[], size_t nValues)
{
    instance *self = (instance *)c;
    size_t i;
    if (nValues != nValueReferences)
        return refuse(self, "There are no arrays: one value for each reference.");
    for (i = 0u; i < nValueReferences; i++)
        if (!set_value(&self->data, valueReferences[i], values[i]))
            return refuse(self, "Only inputs can be set, and the start value before the start.");
    return fmi3OK;
}

#define NO_VARIABLES(KIND)                                                                         \
    fmi3Status fmi3Get##KIND(fmi3Instance c, const fmi3ValueReference valueReferences[],           \
                             size_t nValueReferences, fmi3##KIND values[], size_t nValues)         \
    {                                                                                              \
        (void)valueReferences;                                                                     \
        (void)values;                                                                              \
        (void)nValues;                                                                             \
        return nValueReferences == 0u ? fmi3OK                                                     \
                                      : refuse((instance *)c, "All variables are Float64.");       \
    }                                                                                              \
    fmi3Status fmi3Set##KIND(fmi3Instance c, const fmi3ValueReference valueReferences[],           \
                             size_t nValueReferences, const fmi3##KIND values[], size_t nValues)   \
    {                                                                                              \
        (void)valueReferences;                                                                     \
        (void)values;                                                                              \
        (void)nValues;                                                                             \
        return nValueReferences == 0u ? fmi3OK                                                     \
                                      : refuse((instance *)c, "All variables are Float64.");       \
    }

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance c, fmi3ValueReference valueReference,
                                               size_t *nDependencies)
{
    (void)valueReference;
    (void)nDependencies;
    return refuse((instance *)c, "Dependencies are in the model description.");
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance c, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[],
                                       fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[],
                                       fmi3DependencyKind dependencyKinds[], size_t nDependencies)
{
    (void)dependent;
    (void)elementIndicesOfDependent;
    (void)independents;
    (void)elementIndicesOfIndependents;
    (void)dependencyKinds;
    (void)nDependencies;
    return refuse((instance *)c, "Dependencies are in the model description.");
}

fmi3Status fmi3GetFMUState(fmi3Instance c, fmi3FMUState *FMUState)
{
    instance *self = (instance *)c;
    if (*FMUState == NULL)
        *FMUState = malloc(sizeof self->data);
    if (*FMUState == NULL)
        return refuse(self, "There is no memory for a state.");
    memcpy(*FMUState, &self->data, sizeof self->data);
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance c, fmi3FMUState FMUState)
{
    instance *self = (instance *)c;
    if (FMUState == NULL)
        return refuse(self, "There is no state to go back to.");
    memcpy(&self->data, FMUState, sizeof self->data);
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance c, fmi3FMUState *FMUState)
{
    (void)c;
    if (FMUState != NULL) {
        free(*FMUState);
        *FMUState = NULL;
    }
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance c, fmi3FMUState FMUState, size_t *size)
{
    (void)c;
    (void)FMUState;
    *size = sizeof(instance_data);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance c, fmi3FMUState FMUState, fmi3Byte serializedState[],
                                 size_t size)
{
    instance *self = (instance *)c;
    if (FMUState == NULL || size < sizeof self->data)
        return refuse(self, "There is no room for the state.");
    memcpy(serializedState, FMUState, sizeof self->data);
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance c, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState)
{
    instance *self = (instance *)c;
    if (size != sizeof self->data)
        return refuse(self, "The state is of another size.");
    if (*FMUState == NULL)
        *FMUState = malloc(sizeof self->data);
    if (*FMUState == NULL)
        return refuse(self, "There is no memory for a state.");
    memcpy(*FMUState, serializedState, sizeof self->data);
    return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 currentCommunicationPoint,
                      fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                      fmi3Boolean *eventHandlingNeeded, fmi3Boolean *terminateSimulation,
                      fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    instance *self = (instance *)c;
    (void)currentCommunicationPoint;
    (void)noSetFMUStatePriorToCurrentPoint;
    *eventHandlingNeeded = false;
    *terminateSimulation = false;
    *earlyReturn = false;
    *lastSuccessfulTime = self->data.value[TIME];
    if (!advance(&self->data, communicationStepSize))
        return refuse(self, "A step must be the sampling time of the model, or several of them.");
    *lastSuccessfulTime = self->data.value[TIME];
    return fmi3OK;
}

/* What follows belongs to capabilities that the model description does not offer. */
#define NOT_OFFERED "The model description does not offer this."

fmi3Status fmi3EnterEventMode(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, size_t valueSizes[], fmi3Binary values[],
                         size_t nValues)
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)valueSizes;
    (void)values;
    (void)nValues;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetClock(fmi3Instance c, const fmi3ValueReference valueReferences[],
                        size_t nValueReferences, fmi3Clock values[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)values;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference valueReferences[],
                         size_t nValueReferences, const size_t valueSizes[],
                         const fmi3Binary values[], size_t nValues)
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)valueSizes;
    (void)values;
    (void)nValues;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetClock(fmi3Instance c, const fmi3ValueReference valueReferences[],
                        size_t nValueReferences, const fmi3Clock values[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)values;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance c, const fmi3ValueReference unknowns[],
                                        size_t nUnknowns, const fmi3ValueReference knowns[],
                                        size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                        fmi3Float64 sensitivity[], size_t nSensitivity)
{
    (void)unknowns;
    (void)nUnknowns;
    (void)knowns;
    (void)nKnowns;
    (void)seed;
    (void)nSeed;
    (void)sensitivity;
    (void)nSensitivity;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance c, const fmi3ValueReference unknowns[],
                                    size_t nUnknowns, const fmi3ValueReference knowns[],
                                    size_t nKnowns, const fmi3Float64 seed[], size_t nSeed,
                                    fmi3Float64 sensitivity[], size_t nSensitivity)
{
    (void)unknowns;
    (void)nUnknowns;
    (void)knowns;
    (void)nKnowns;
    (void)seed;
    (void)nSeed;
    (void)sensitivity;
    (void)nSensitivity;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, fmi3Float64 intervals[],
                                  fmi3IntervalQualifier qualifiers[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)intervals;
    (void)qualifiers;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[],
                                   fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance c, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, fmi3Float64 shifts[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)shifts;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetShiftFraction(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3UInt64 counters[],
                                fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)counters;
    (void)resolutions;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetIntervalDecimal(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const fmi3Float64 intervals[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)intervals;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3UInt64 counters[],
                                   const fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)counters;
    (void)resolutions;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance c, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, const fmi3Float64 shifts[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)shifts;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetShiftFraction(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3UInt64 counters[],
                                const fmi3UInt64 resolutions[])
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)counters;
    (void)resolutions;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance c, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation,
                                    fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged,
                                    fmi3Boolean *nextEventTimeDefined, fmi3Float64 *nextEventTime)
{
    (void)discreteStatesNeedUpdate;
    (void)terminateSimulation;
    (void)nominalsOfContinuousStatesChanged;
    (void)valuesOfContinuousStatesChanged;
    (void)nextEventTimeDefined;
    (void)nextEventTime;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance c, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode,
                                       fmi3Boolean *terminateSimulation)
{
    (void)noSetFMUStatePriorToCurrentPoint;
    (void)enterEventMode;
    (void)terminateSimulation;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetTime(fmi3Instance c, fmi3Float64 time)
{
    (void)time;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance c, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates)
{
    (void)continuousStates;
    (void)nContinuousStates;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance c, fmi3Float64 derivatives[],
                                             size_t nContinuousStates)
{
    (void)derivatives;
    (void)nContinuousStates;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance c, fmi3Float64 eventIndicators[],
                                  size_t nEventIndicators)
{
    (void)eventIndicators;
    (void)nEventIndicators;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance c, fmi3Float64 continuousStates[],
                                   size_t nContinuousStates)
{
    (void)continuousStates;
    (void)nContinuousStates;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance c, fmi3Float64 nominals[],
                                             size_t nContinuousStates)
{
    (void)nominals;
    (void)nContinuousStates;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance c, size_t *nEventIndicators)
{
    (void)nEventIndicators;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance c, size_t *nContinuousStates)
{
    (void)nContinuousStates;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3EnterStepMode(fmi3Instance c)
{
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance c, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[],
                                    fmi3Float64 values[], size_t nValues)
{
    (void)valueReferences;
    (void)nValueReferences;
    (void)orders;
    (void)values;
    (void)nValues;
    return refuse((instance *)c, NOT_OFFERED);
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance c, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime)
{
    (void)clockReference;
    (void)activationTime;
    return refuse((instance *)c, NOT_OFFERED);
}
