/*
 * adjoin_fmi2.c: FMI 2.0 for co-simulation around a model, the same for every model.
 *
 * The standard's headers come with the tool that compiles; ADJOIN_OWN_FMI does without them.
 */
#ifdef ADJOIN_OWN_FMI
#include "adjoin_fmi2_types.h"
#else
#include "fmi2Functions.h"
#endif

#include "adjoin_instance.h"

typedef struct {
    instance_data data;
    const fmi2CallbackFunctions *functions;
    char name[64];
} instance;

static fmi2Status refuse(const instance *self, const char *message)
{
    if (self->functions != NULL && self->functions->logger != NULL)
        self->functions->logger(self->functions->componentEnvironment, self->name, fmi2Error,
                                "logStatusError", message);
    return fmi2Error;
}

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    (void)c;
    (void)loggingOn;
    (void)nCategories;
    (void)categories;
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible,
                              fmi2Boolean loggingOn)
{
    instance *self;
    (void)fmuResourceLocation;
    (void)visible;
    (void)loggingOn;
    if (fmuType != fmi2CoSimulation || fmuGUID == NULL || strcmp(fmuGUID, TOKEN) != 0)
        return NULL;
    self = (instance *)calloc(1u, sizeof *self);
    if (self == NULL)
        return NULL;
    self->functions = functions;
    if (instanceName != NULL)
        strncpy(self->name, instanceName, sizeof self->name - 1u);
    reset(&self->data);
    return self;
}

void fmi2FreeInstance(fmi2Component c)
{
    free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance,
                               fmi2Real startTime, fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    instance *self = (instance *)c;
    (void)toleranceDefined;
    (void)tolerance;
    (void)stopTimeDefined;
    (void)stopTime;
    self->data.start_time = startTime;
    begin(&self->data);
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ((instance *)c)->data.is_started = 1;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    (void)c;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    reset(&((instance *)c)->data);
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    instance *self = (instance *)c;
    size_t i;
    for (i = 0u; i < nvr; i++)
        if (!get_value(&self->data, vr[i], &value[i]))
            return refuse(self, "There is no variable of that value reference.");
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                       const fmi2Real value[])
{
    instance *self = (instance *)c;
    size_t i;
    for (i = 0u; i < nvr; i++)
        if (!set_value(&self->data, vr[i], value[i]))
            return refuse(self, "Only inputs can be set, and the start value before the start.");
    return fmi2OK;
}

#define NO_VARIABLES(KIND)                                                                         \
    fmi2Status fmi2Get##KIND(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,           \
                             fmi2##KIND value[])                                                   \
    {                                                                                              \
        (void)vr;                                                                                  \
        (void)value;                                                                               \
        return nvr == 0u ? fmi2OK : refuse((instance *)c, "All variables are real numbers.");      \
    }                                                                                              \
    fmi2Status fmi2Set##KIND(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,           \
                             const fmi2##KIND value[])                                             \
    {                                                                                              \
        (void)vr;                                                                                  \
        (void)value;                                                                               \
        return nvr == 0u ? fmi2OK : refuse((instance *)c, "All variables are real numbers.");      \
    }

NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    instance *self = (instance *)c;
    if (*FMUstate == NULL)
        *FMUstate = malloc(sizeof self->data);
    if (*FMUstate == NULL)
        return refuse(self, "There is no memory for a state.");
    memcpy(*FMUstate, &self->data, sizeof self->data);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    instance *self = (instance *)c;
    if (FMUstate == NULL)
        return refuse(self, "There is no state to go back to.");
    memcpy(&self->data, FMUstate, sizeof self->data);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    (void)c;
    if (FMUstate != NULL) {
        free(*FMUstate);
        *FMUstate = NULL;
    }
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    (void)c;
    (void)FMUstate;
    *size = sizeof(instance_data);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[],
                                 size_t size)
{
    instance *self = (instance *)c;
    if (FMUstate == NULL || size < sizeof self->data)
        return refuse(self, "There is no room for the state.");
    memcpy(serializedState, FMUstate, sizeof self->data);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    instance *self = (instance *)c;
    if (size != sizeof self->data)
        return refuse(self, "The state is of another size.");
    if (*FMUstate == NULL)
        *FMUstate = malloc(sizeof self->data);
    if (*FMUstate == NULL)
        return refuse(self, "There is no memory for a state.");
    memcpy(*FMUstate, serializedState, sizeof self->data);
    return fmi2OK;
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[],
                                        size_t nUnknown, const fmi2ValueReference vKnown_ref[],
                                        size_t nKnown, const fmi2Real dvKnown[],
                                        fmi2Real dvUnknown[])
{
    (void)vUnknown_ref;
    (void)nUnknown;
    (void)vKnown_ref;
    (void)nKnown;
    (void)dvKnown;
    (void)dvUnknown;
    return refuse((instance *)c, "There are no derivatives.");
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return nvr == 0u ? fmi2OK : refuse((instance *)c, "Inputs are held between samples.");
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    (void)vr;
    (void)order;
    (void)value;
    return nvr == 0u ? fmi2OK : refuse((instance *)c, "There are no derivatives.");
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint,
                      fmi2Real communicationStepSize, fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    instance *self = (instance *)c;
    (void)currentCommunicationPoint;
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!advance(&self->data, communicationStepSize))
        return refuse(self, "A step must be the sampling time of the model, or several of them.");
    return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    return refuse((instance *)c, "No step is under way.");
}

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    (void)c;
    (void)s;
    *value = fmi2OK;
    return fmi2OK;
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    if (s != fmi2LastSuccessfulTime)
        return fmi2Discard;
    *value = ((instance *)c)->data.value[TIME];
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    (void)c;
    (void)s;
    (void)value;
    return fmi2Discard;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    (void)c;
    if (s != fmi2Terminated)
        return fmi2Discard;
    *value = 0;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    (void)c;
    (void)s;
    (void)value;
    return fmi2Discard;
}
