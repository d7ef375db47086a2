# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The services of MinKNOW that clients of Read Until call, over minknow_api's stubs."""

from __future__ import annotations

import time
from typing import Any

from minknow_api import (
    acquisition_pb2,
    acquisition_pb2_grpc,
    analysis_configuration_pb2,
    analysis_configuration_pb2_grpc,
    data_pb2,
    data_pb2_grpc,
    device_pb2,
    device_pb2_grpc,
    instance_pb2,
    instance_pb2_grpc,
    log_pb2,
    log_pb2_grpc,
    manager_pb2,
    manager_pb2_grpc,
    protocol_pb2,
    protocol_pb2_grpc,
)

from .stand_in import CLASSES

_MINKNOW = (6, 0, 0)


def _version() -> Any:
    version = instance_pb2.GetVersionInfoResponse()
    version.minknow.major, version.minknow.minor, version.minknow.patch = _MINKNOW
    version.minknow.full = ".".join(map(str, _MINKNOW))
    version.distribution_version = "24.06.0"
    version.bream = version.protocol_configuration = "8.0.0"
    return version


class Manager(manager_pb2_grpc.ManagerServiceServicer):
    def __init__(self, of: Any):
        self._of = of

    def flow_cell_positions(self, request: Any, context: Any) -> Any:
        position = manager_pb2.FlowCellPosition(name=self._of.options.position, state=manager_pb2.FlowCellPosition.STATE_RUNNING, is_simulated=True)
        position.rpc_ports.secure = self._of.position_port
        yield manager_pb2.FlowCellPositionsResponse(total_count=1, positions=[position])

    def get_version_info(self, request: Any, context: Any) -> Any:
        return _version()

    def local_authentication_token_path(self, request: Any, context: Any) -> Any:
        return manager_pb2.LocalAuthenticationTokenPathResponse(path="")


class Instance(instance_pb2_grpc.InstanceServiceServicer):
    def get_version_info(self, request: Any, context: Any) -> Any:
        return _version()


class Device(device_pb2_grpc.DeviceServiceServicer):
    def __init__(self, of: Any):
        self._options = of.options

    def get_flow_cell_info(self, request: Any, context: Any) -> Any:
        return device_pb2.GetFlowCellInfoResponse(has_flow_cell=True, channel_count=self._options.channels, wells_per_channel=4, flow_cell_id="STANDIN",
                                                  product_code=self._options.product_code)

    def get_calibration(self, request: Any, context: Any) -> Any:
        channels = request.last_channel - request.first_channel + 1
        return device_pb2.GetCalibrationResponse(digitisation=self._options.digitisation, offsets=[self._options.offset] * channels,
                                                 pa_ranges=[self._options.range] * channels, has_calibration=True)

    def get_sample_rate(self, request: Any, context: Any) -> Any:
        return device_pb2.GetSampleRateResponse(sample_rate=int(self._options.sampling_rate))

    def get_device_info(self, request: Any, context: Any) -> Any:
        return device_pb2.GetDeviceInfoResponse(device_id=self._options.position, is_simulated=True, max_channel_count=self._options.channels,
                                                digitisation=self._options.digitisation)


class Analysis(analysis_configuration_pb2_grpc.AnalysisConfigurationServiceServicer):
    def __init__(self, of: Any):
        self._options = of.options

    def get_read_classifications(self, request: Any, context: Any) -> Any:
        return analysis_configuration_pb2.GetReadClassificationsResponse(read_classifications=CLASSES)

    def get_analysis_configuration(self, request: Any, context: Any) -> Any:
        configuration = analysis_configuration_pb2.AnalysisConfiguration()
        configuration.read_detection.break_reads_after_seconds.value = self._options.chunk_seconds
        return configuration


class Acquisition(acquisition_pb2_grpc.AcquisitionServiceServicer):
    def __init__(self, of: Any):
        self._of = of

    def current_status(self, request: Any, context: Any) -> Any:
        status = acquisition_pb2.PROCESSING if self._of.is_acquiring else acquisition_pb2.READY
        return acquisition_pb2.CurrentStatusResponse(status=status)

    def get_progress(self, request: Any, context: Any) -> Any:
        response = acquisition_pb2.GetProgressResponse()
        response.raw_per_channel.acquired = response.raw_per_channel.processed = self._of.sample_clock()
        return response

    def get_acquisition_info(self, request: Any, context: Any) -> Any:
        state = acquisition_pb2.ACQUISITION_RUNNING if self._of.is_acquiring else acquisition_pb2.ACQUISITION_COMPLETED
        return acquisition_pb2.AcquisitionRunInfo(run_id="stand_in", state=state)

    def get_current_acquisition_run(self, request: Any, context: Any) -> Any:
        return self.get_acquisition_info(request, context)


class Protocol(protocol_pb2_grpc.ProtocolServiceServicer):
    def __init__(self, of: Any):
        self._of = of

    def get_current_protocol_run(self, request: Any, context: Any) -> Any:
        running = self._of.is_acquiring
        run = protocol_pb2.ProtocolRunInfo(run_id="stand_in", output_path=self._of.options.output,
                                           state=protocol_pb2.PROTOCOL_RUNNING if running else protocol_pb2.PROTOCOL_COMPLETED,
                                           phase=protocol_pb2.PHASE_SEQUENCING)
        run.start_time.FromSeconds(int(time.time()))
        run.flow_cell.has_flow_cell = True
        run.flow_cell.channel_count, run.flow_cell.product_code = self._of.options.channels, self._of.options.product_code
        return run

    def get_run_info(self, request: Any, context: Any) -> Any:
        return self.get_current_protocol_run(request, context)


class Data(data_pb2_grpc.DataServiceServicer):
    def __init__(self, of: Any):
        self._of = of

    def get_live_reads(self, requests: Any, context: Any) -> Any:
        return self._of.live_reads(requests, context)

    def get_data_types(self, request: Any, context: Any) -> Any:
        kind = data_pb2.GetDataTypesResponse.DataType
        return data_pb2.GetDataTypesResponse(
            uncalibrated_signal=kind(type=kind.SIGNED_INTEGER, size=2), calibrated_signal=kind(type=kind.FLOATING_POINT, size=4),
            bias_voltages=kind(type=kind.SIGNED_INTEGER, size=2))


class Log(log_pb2_grpc.LogServiceServicer):
    def send_user_message(self, request: Any, context: Any) -> Any:
        return log_pb2.SendUserMessageResponse()


def manager_services(server: Any, of: Any) -> None:
    manager_pb2_grpc.add_ManagerServiceServicer_to_server(Manager(of), server)
    instance_pb2_grpc.add_InstanceServiceServicer_to_server(Instance(), server)


def position_services(server: Any, of: Any) -> None:
    instance_pb2_grpc.add_InstanceServiceServicer_to_server(Instance(), server)
    device_pb2_grpc.add_DeviceServiceServicer_to_server(Device(of), server)
    analysis_configuration_pb2_grpc.add_AnalysisConfigurationServiceServicer_to_server(Analysis(of), server)
    acquisition_pb2_grpc.add_AcquisitionServiceServicer_to_server(Acquisition(of), server)
    protocol_pb2_grpc.add_ProtocolServiceServicer_to_server(Protocol(of), server)
    data_pb2_grpc.add_DataServiceServicer_to_server(Data(of), server)
    log_pb2_grpc.add_LogServiceServicer_to_server(Log(), server)
